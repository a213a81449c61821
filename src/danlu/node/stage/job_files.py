"""Files that the job wrote, opened with care: it could put a link there that points at what is not its own."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator

from danlu.transfer.errors import LocalProblem, Removed

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC  # needs no right to list it


@contextlib.contextmanager
def open_regular(path: str) -> Iterator[int]:
    """Open a regular file for reading. Raise Removed when it is none, or none any more, and LocalProblem."""
    try:
        descriptor = _open_without_links(path)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise Removed from error  # it became a link or a socket: not for sending
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            raise Removed from error
        raise LocalProblem(path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Removed
        yield descriptor
    finally:
        os.close(descriptor)


def walk(folder: str, leave_out: Callable[[str, str], None]) -> Iterator[str]:
    """Find the files below a folder; say which files and folders could not be looked at."""

    def note(error: OSError) -> None:
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):  # gone meanwhile
            leave_out(str(error.filename), error.strerror or str(error))

    if os.path.islink(folder):
        return
    for parent, folders, files in os.walk(folder, onerror=note):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(parent, name)
            try:
                mode = os.lstat(path).st_mode
            except OSError as error:
                note(error)
                continue
            if stat.S_ISREG(mode):
                yield path


def _open_without_links(path: str) -> int:
    """Open a file so that no part of its path is a symbolic link."""
    *parents, name = path.strip("/").split("/")
    folder = os.open("/" if path.startswith("/") else ".", _FOLDER)
    try:
        for part in parents:
            deeper = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = deeper
        return os.open(name, _OPEN, dir_fd=folder)
    finally:
        os.close(folder)
