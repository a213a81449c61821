"""A copy of a task's log in a folder that its user controls, the home of the job's owner.

The owner may put symlinks, pipes or devices at the copy's path while this process runs as root. So the file is opened
with the owner's rights, relative to an open folder, without following symlinks.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import Optional

PIECE_BYTES = 1 << 20
MAX_PIECES = 16
"""Per call, so that a task with much output does not block its shim."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class LogCopy:
    """Follows a log. A failed write ends the copy, not the task."""

    def __init__(self, log: str, folder: str, path: str, *, uid: Optional[int]) -> None:
        """Create an empty copy at `path` below `folder`. Raise OSError when that fails."""
        self._log = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
        self._copied = 0
        self._target: Optional[int] = None
        home = os.open(folder, _FOLDER)
        try:
            with _acting_as(uid):
                self._target = _open_below(home, path)
        finally:
            os.close(home)

    def follow(self, *, is_last: bool = False) -> None:
        """Copy new data; with `is_last`, all that is left."""
        num_pieces = 0
        while self._target is not None and (is_last or num_pieces < MAX_PIECES):
            piece = os.pread(self._log, PIECE_BYTES, self._copied)
            if not piece:
                return
            try:
                self._copied += os.write(self._target, piece)
            except OSError:
                os.close(self._target)
                self._target = None
            num_pieces += 1


@contextlib.contextmanager
def _acting_as(uid: Optional[int]) -> Iterator[None]:
    """Take on a user's rights for a moment. Safe because the shim has one thread."""
    if uid is None or os.geteuid() != 0:
        yield
        return
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def _open_below(home: int, path: str) -> int:
    *parents, name = path.split("/")
    held = os.dup(home)
    try:
        for part in parents:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=held)
            inner = os.open(part, _FOLDER, dir_fd=held)
            os.close(held)
            held = inner
        target = os.open(name, _FILE, 0o644, dir_fd=held)
    finally:
        os.close(held)
    found = os.fstat(target)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(target)
        raise OSError(f"{path} is not a file of its own")
    os.ftruncate(target, 0)
    return target
