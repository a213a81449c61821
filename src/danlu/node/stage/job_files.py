"""Open files that the job wrote, safely: it may have put symlinks there to files that it has no access to."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator

from danlu.transfer.errors import LocalProblem, Removed

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC  # needs no permission to list it


@contextlib.contextmanager
def open_regular(path: str) -> Iterator[int]:
    """Open a regular file for reading. Raise Removed when it is not (or no longer) a regular file, and LocalProblem."""
    try:
        descriptor = _open_without_links(path)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise Removed from error  # it became a link or a socket, which are not uploaded
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
    """Yield the files in a folder; report files and folders that cannot be read."""

    def note(error: OSError) -> None:
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):  # deleted meanwhile
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
    """Open a file, failing if any part of its path is a symlink."""
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
