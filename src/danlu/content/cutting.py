"""Where a file is cut into chunks. The places depend on what is there, not on how far from the beginning it is.

An insertion moves all bytes behind it, and the chunks behind it stay the same. A place can be one only behind a line
feed: that byte is found at the speed of memory, it ends the lines of texts, and it is one byte of 256 in weights. The
32 bytes before it decide whether it is one. Correctness never depends on this: chunks cut elsewhere are chunks too,
they are only not found again.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from typing import NamedTuple, Optional

MIN_BYTES, NORMAL_BYTES, MAX_BYTES = 128 << 10, 512 << 10, 2 << 20
BLOCK_BYTES = 4 << 20
_WINDOW = 32
_RARE, _COMMON = (1 << 11) - 1, (1 << 9) - 1
"""Up to the normal size few places count, behind it more: sizes lie close together."""


class Piece(NamedTuple):
    """A chunk, and where in its file it begins."""

    sha256: str
    size: int
    offset: int


class Cut(NamedTuple):
    """A file that was read to its end."""

    size: int
    sha256: str


def next_cut(data: bytes, begin: int, end: int) -> int:
    """Where the chunk that begins at `begin` ends. `end` is the file's, or at least MAX_BYTES away."""
    if end - begin <= MIN_BYTES:
        return end
    stop = min(end, begin + MAX_BYTES)
    find, checksum = data.find, zlib.crc32
    at = begin + MIN_BYTES
    for limit, mask in ((min(stop, begin + NORMAL_BYTES), _RARE), (stop, _COMMON)):
        at = find(b"\n", at, limit)
        while at >= 0:
            if checksum(data[at - _WINDOW : at]) & mask == 0:
                return at + 1
            at = find(b"\n", at + 1, limit)
        at = limit
    return stop


class Cutter:
    """Reads one file in blocks. After the last piece, `whole` says what was read."""

    def __init__(self, descriptor: int, executor: Optional[Executor] = None) -> None:
        """With an executor the digest of the whole file is made beside those of the pieces."""
        self._descriptor = descriptor
        self._executor = executor
        self._digest = hashlib.sha256()
        self._pending: Optional[Future[None]] = None
        self._size = 0

    def pieces(self) -> Iterator[Piece]:
        rest, offset = b"", 0
        is_last = False
        while not is_last:
            block = os.pread(self._descriptor, BLOCK_BYTES, self._size)
            is_last = len(block) < BLOCK_BYTES
            self._add(block)
            data = rest + block if rest else block
            begin, end = 0, len(data)
            view = memoryview(data)
            while begin < end and (is_last or end - begin >= MAX_BYTES):
                until = next_cut(data, begin, end)
                yield Piece(hashlib.sha256(view[begin:until]).hexdigest(), until - begin, offset + begin)
                begin = until
            rest, offset = data[begin:], offset + begin

    def whole(self) -> Cut:
        if self._pending is not None:
            self._pending.result()
        return Cut(self._size, self._digest.hexdigest())

    def _add(self, block: bytes) -> None:
        self._size += len(block)
        if self._executor is None or len(block) < BLOCK_BYTES:
            self._wait()
            self._digest.update(block)
            return
        self._wait()  # in order, and one block ahead at most
        self._pending = self._executor.submit(self._digest.update, block)

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None
