"""Files that are there as a whole or not at all."""

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
    """Open a file for writing that appears under its name when the block ends, and leaves nothing behind if it fails.

    Any number of threads and processes may write the same file: each has a partial file of its own, and the last one
    to finish wins. What a process leaves behind that is killed, `remove_abandoned` knows by its lock.
    """
    partial, file = _new_partial(path)
    try:
        with file:
            yield file
            file.flush()
            partial.replace(path)  # before the lock is gone
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def is_partial(path: Path) -> bool:
    """Whether this is a file of ours that is not whole yet, or never will be."""
    return PARTIAL.fullmatch(path.name) is not None


def remove_abandoned(folder: Path) -> None:
    """Remove the partial files in a folder that nobody writes any more."""
    for path in filter(is_partial, folder.glob(".*.partial")):
        with suppress(OSError), path.open("r+b") as file:  # somebody writes it, or it is gone, or there are no locks
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _new_partial(path: Path) -> tuple[Path, BinaryIO]:
    """Return a new file beside `path`, locked for as long as it is open."""
    while True:
        partial = path.with_name(f".{secrets.token_hex(8)}.partial")
        file = partial.open("xb")
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return partial, file
        file.close()  # removed as abandoned, before it was locked


def write_whole(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file in one go."""
    with whole_file(path) as file:
        for part in parts:
            file.write(part)
