"""Removing large files without waiting for the kernel to free their memory and blocks, which takes 0.2 s per GiB."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Optional

LARGE_BYTES = 32 << 20
MAX_HELD = 64
_HOLD = "import sys; sys.stdin.read()"


def discard(folder: str) -> None:
    """Remove a folder and what is in it, as far as that is possible.

    Its names are gone when this returns. Another process has large files open until then and ends after it: so the
    kernel frees them there, and nothing is left behind when either is killed.
    """
    with ExitStack() as held:
        descriptors = []
        for descriptor in _open_large(folder):
            held.callback(os.close, descriptor)
            descriptors.append(descriptor)
        holder = _start_holder(descriptors) if descriptors else None
    shutil.rmtree(folder, ignore_errors=True)
    if holder is not None and holder.stdin is not None:
        holder.stdin.close()
        threading.Thread(target=holder.wait, name="danlu-discard", daemon=True).start()


def _open_large(folder: str) -> Iterator[int]:
    """Descriptors of large files, some at most."""
    num_open = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with suppress(OSError):
                status = os.lstat(path)
                if stat.S_ISREG(status.st_mode) and status.st_size >= LARGE_BYTES and num_open < MAX_HELD:
                    yield os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                    num_open += 1


def _start_holder(descriptors: list[int]) -> Optional[subprocess.Popen[bytes]]:
    """Start a process that ends when its input does. None where that fails: then this process frees the files."""
    if not sys.executable:
        return None
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _HOLD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=descriptors,
            start_new_session=True,
        )
    except OSError:
        return None
