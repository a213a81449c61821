"""Files of this machine, as those see them who send and fetch: opened with care, read in blocks, written whole."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Callable

from danlu.transfer.carrier import BLOCK_BYTES, Block, Body, Stretch
from danlu.transfer.errors import LocalProblem

PARTIAL = ".partial."
"""How the names of unfinished files begin. The store takes none of them."""

Opener = Callable[[str], AbstractContextManager[int]]
"""Opens a file for reading: how careful one has to be depends on who could have put it there."""


@contextmanager
def open_file(path: str) -> Iterator[int]:
    """Open a regular file that is our own. Raise LocalProblem."""
    with local_problems(path):
        descriptor = os.open(path, os.O_RDONLY)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise LocalProblem(path, OSError(22, "not a regular file"))
        yield descriptor
    finally:
        os.close(descriptor)


def body_of_file(path: str, descriptor: int, begin: int, end: int) -> Body:
    """A stretch of an open file, to send."""
    return Body(end - begin, Stretch(path, descriptor, begin=begin, size=end - begin).parts)


def sha256_of_file(path: str, descriptor: int) -> tuple[str, int]:
    """Digest and size of an open file, read to its end."""
    digest, size = hashlib.sha256(), 0
    while True:
        with local_problems(path):
            block = os.pread(descriptor, BLOCK_BYTES, size)
        if not block:
            return digest.hexdigest(), size
        digest.update(block)
        size += len(block)


def partial_path(path: str, mark: str) -> str:
    """Where a file is until it is whole. The mark says which one of several that could be meant."""
    folder, name = os.path.split(path)
    start = f"{PARTIAL}{mark}."
    return os.path.join(folder, start + os.fsdecode(os.fsencode(name)[-(240 - len(start)) :]))


def open_unfinished(path: str, mark: str) -> tuple[str, int]:
    """Open what an earlier attempt left of a file. While another process works on that, begin a new one.

    The lock is held until the descriptor is closed.
    """
    for partial in (partial_path(path, mark), new_partial_path(path)):
        with local_problems(path):
            descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        if try_lock(descriptor) and _is_at(partial, descriptor):
            return partial, descriptor
        os.close(descriptor)
    raise LocalProblem(path, OSError(errno.EAGAIN, "another process locks its unfinished file"))


def new_partial_path(path: str) -> str:
    """A name that no other attempt uses."""
    return partial_path(path, uuid.uuid4().hex[:12])


def _is_at(path: str, descriptor: int) -> bool:
    """Whether an open file still has this name: another process may have finished and renamed it."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except OSError:
        return False


def write_whole(path: str, data: Block, *, mark: str, is_executable: bool = False) -> None:
    """Write a small file; it appears whole. Raise LocalProblem."""
    partial = partial_path(path, mark)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        with local_problems(path):
            descriptor = os.open(partial, flags, 0o777 if is_executable else 0o666)
            try:
                write_at(descriptor, data, 0)
            finally:
                os.close(descriptor)
            os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise


def write_at(descriptor: int, data: Block, offset: int) -> None:
    """Write all of it."""
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; False when another process holds it."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return True  # no locks on this system, or on this file system
    return True


def make_folder(path: str) -> None:
    with local_problems(path):
        os.makedirs(path, exist_ok=True)


@contextmanager
def local_problems(path: str) -> Iterator[None]:
    """Tell what the disk says from what the network says."""
    try:
        yield
    except OSError as error:
        raise LocalProblem(path, error) from error
