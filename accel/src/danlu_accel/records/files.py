"""Atomic writing of files."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Union

PARTIAL = re.compile(r"\.[0-9a-f]{16}\.partial")
Name = Union[str, "os.PathLike[str]"]


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name when the block ends, and is removed if the block fails.

    Any number of threads and processes may write the same file: each has its own partial file, and the last one to
    finish wins. `remove_abandoned` recognises partial files of killed processes by their lock.
    """
    partial, file = _new_partial(path)
    try:
        with file:
            yield file
            file.flush()
            partial.replace(path)  # while still locked
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def is_partial(path: Path) -> bool:
    """Whether this is a partial file of ours."""
    return PARTIAL.fullmatch(path.name) is not None


def remove_abandoned(folder: Path) -> None:
    """Remove the partial files in a folder that no process is writing."""
    for path in filter(is_partial, folder.glob(".*.partial")):
        with suppress(OSError), path.open("r+b") as file:  # still being written, already removed, or no locks here
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _new_partial(path: Path) -> tuple[Path, BinaryIO]:
    """Return a new file in the folder of `path`, locked while it is open."""
    while True:
        partial = path.with_name(f".{secrets.token_hex(8)}.partial")
        file = partial.open("xb")
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return partial, file
        file.close()  # removed as abandoned before it was locked


def write_whole(path: Path, parts: Iterable[bytes]) -> None:
    """Write a whole file atomically."""
    with whole_file(path) as file:
        for part in parts:
            file.write(part)
