"""Resolve paths in folders that a job can write to without following symlinks, for processes more privileged than the
job."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

FOLDER = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC  # needs no permission to list it


@contextlib.contextmanager
def parent_below(folder: str, path: str) -> Iterator[tuple[int, str]]:
    """Open the parent folder of a path, step by step from `folder`. Yield its descriptor and the last name.

    Raise OSError when a part of the path is missing or a symlink.
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
    """Whether the path is a regular file, not a symlink to one."""
    try:
        with parent_below(folder, path) as (at, name):
            return stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
    except OSError:
        return False
