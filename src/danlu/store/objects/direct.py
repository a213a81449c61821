"""Writing many bytes past the page cache of the kernel.

They go from our memory to the disk without being copied, and push nothing else out of the cache. What they cost the
processor was an eighth, and what they would have waited for is the same: they are durable before anybody is answered.
"""

from __future__ import annotations

import os

import numpy as np

from danlu.store.objects.base import Bytes

ALIGNED_BYTES = 4096
"""Where in memory and in the file such a write begins, and what its size is a multiple of."""

MIN_BYTES = 1 << 20
_FLAG = getattr(os, "O_DIRECT", 0)
"""Not every system has it."""


def aligned_buffer(size: int) -> memoryview:
    """Memory that can be written directly, as it is found: clearing it would take as long as receiving."""
    memory = np.empty(size + ALIGNED_BYTES, np.uint8)
    begin = -memory.ctypes.data % ALIGNED_BYTES
    return memory[begin : begin + size].data


def write_directly(descriptor: int, data: Bytes) -> int:
    """Write the beginning of data to an empty file; return how many bytes. The rest is for `os.write`, as usual."""
    size = len(data) - len(data) % ALIGNED_BYTES
    if size < MIN_BYTES or np.frombuffer(data, np.uint8).ctypes.data % ALIGNED_BYTES or not _set_flag(descriptor):
        return 0
    view, at = memoryview(data), 0
    try:
        while at < size:
            at += os.write(descriptor, view[at:size])
    except OSError:
        return at  # where the disk is full, writing as usual says so
    finally:
        _clear_flag(descriptor)
    return at


def _set_flag(descriptor: int) -> bool:
    try:
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | _FLAG)
    except (ImportError, OSError):  # another system, or a file system that cannot
        return False
    return bool(_FLAG)


def _clear_flag(descriptor: int) -> None:
    import fcntl

    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) & ~_FLAG)
