"""Paths in folders that a job can write to, for processes with more rights than the job: no link is followed."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

FOLDER = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC  # needs no right to list it


@contextlib.contextmanager
def parent_below(folder: str, path: str) -> Iterator[tuple[int, str]]:
    """Open the folder that a path lies in, step by step from `folder`. Yield its descriptor and the last name.

    Raise OSError when something on the way is missing, or is a link.
    """
    *parents, name = os.path.relpath(path, folder).split(os.sep)
    if os.pardir in parents or name in (os.curdir, os.pardir):
        raise ValueError(f"{path!r} does not lie below {folder!r}")
    at = os.open(folder, FOLDER)
    try:
        for part in parents:
            deeper = os.open(part, FOLDER, dir_fd=at)
            os.close(at)
            at = deeper
        yield at, name
    finally:
        os.close(at)


def exists_below(folder: str, path: str) -> bool:
    """Whether there is a file, and not a link to one."""
    try:
        with parent_below(folder, path) as (at, name):
            return stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
    except OSError:
        return False
