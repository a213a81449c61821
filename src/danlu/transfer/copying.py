"""Copies of files that stay as they are, whatever becomes of the original.

A hard link would be free, and wrong: `torch.save` to the same path writes into the very bytes that were added. Where
the file system can share blocks until one side is written (XFS, btrfs, bcachefs), that is as cheap and right; else the
kernel copies.
"""

from __future__ import annotations

import os
import shutil

_FICLONE = 0x40049409
"""The request of Linux that makes one file share the blocks of another."""


def copy(source: str, target: str) -> int:
    """Copy a file, with the right to execute it, and return its size. The target appears whole."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    partial = f"{target}.{os.getpid()}.partial"
    try:
        with open(source, "rb", buffering=0) as old, open(partial, "wb", buffering=0) as new:
            if not share_blocks(old.fileno(), new.fileno()):
                _copy(old.fileno(), new.fileno())
            size = os.fstat(new.fileno()).st_size
        shutil.copymode(source, partial)
        os.replace(partial, target)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
    return size


def share_blocks(old: int, new: int) -> bool:
    """Make an empty file have the bytes of another one, without copying them; False where that cannot be."""
    try:
        import fcntl

        fcntl.ioctl(new, _FICLONE, old)
    except (ImportError, OSError):  # another system, another file system, or one that cannot
        return False
    return True


def _copy(old: int, new: int) -> None:
    size, at = os.fstat(old).st_size, 0
    while at < size:
        done = _step(old, new, at, size - at)
        if done == 0:
            return  # it became shorter
        at += done


def _step(old: int, new: int, at: int, left: int) -> int:
    """Let the kernel copy a stretch, without passing it through this process where it can."""
    try:
        return os.sendfile(new, old, at, min(left, 1 << 30))
    except (AttributeError, OSError):
        data = os.pread(old, min(left, 1 << 20), at)
        return os.write(new, data)
