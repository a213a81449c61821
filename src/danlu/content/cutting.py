"""Where a file is cut into chunks. The places depend on what is there, not on how far from the beginning it is.

An insertion moves all bytes behind it, and the chunks behind it stay the same. The first choice are places behind a
line feed: that byte is found at the speed of memory, it ends the lines of texts, and it is one byte of 256 in weights.
Where no line feed of a stretch will do, a rolling hash names one place of 256. Of both, the bytes before a place decide
whether it is one. Correctness never depends on this: chunks cut elsewhere are chunks too, only not found again.

The rolling hash is made of whole stretches at once, as operations on one large number: its digits of eight bits are the
hashes. Python's own loop would take a thousand times as long. Where danlu-accel is installed, its compiled form of the
same rules is used (`next_cut_here`).
"""

from __future__ import annotations

import functools
import hashlib
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from io import FileIO
from typing import NamedTuple, Union

RULES = 1
"""Which places are cuts. The compiled form must have the same number: other places would be sent once more."""

COMPILED = "danlu_accel.cutting"

MIN_BYTES, NORMAL_BYTES, MAX_BYTES = 128 << 10, 512 << 10, 2 << 20
BLOCK_BYTES = 8 << 20
BLOCKS_AHEAD = 2
NUM_HASHERS = 2
_RARE, _COMMON = (1 << 11) - 1, (1 << 9) - 1
"""Up to the normal size few places count, behind it more: sizes lie close together."""

_LINE_WINDOW, _WINDOW = 32, 64
"""How many bytes decide, behind a line feed and elsewhere."""

_HASHING_FROM_BYTES, _HASHING = 256 << 10, (1 << 10) - 1
"""Without line feeds: hashing costs more than looking for a byte, so it begins later, and more places count."""

_STRETCH_BYTES = 128 << 10
_HASHED_BYTES = 9
"""How many bytes the rolling hash of a place is made of: this one and those before it."""

_MOST_TRIES = 8192
"""Places that are looked at in vain: the same bytes again and again have too many, and none that counts."""

_TABLE = b"".join(hashlib.sha256(bytes((number,))).digest() for number in range(8))
"""Byte -> eight bits without a pattern."""


class Piece(NamedTuple):
    """A chunk, and where in its file it begins."""

    sha256: str
    size: int
    offset: int


def next_cut(data: Union[bytes, bytearray], begin: int, end: int) -> int:
    """Where the chunk that begins at `begin` ends. `end` is the file's, or at least MAX_BYTES away."""
    if end - begin <= MIN_BYTES:
        return end
    stop = min(end, begin + MAX_BYTES)
    find, checksum = data.find, zlib.crc32
    at = begin + MIN_BYTES
    for limit, mask in ((min(stop, begin + NORMAL_BYTES), _RARE), (stop, _COMMON)):
        at = find(b"\n", at, limit)
        while at >= 0:
            if checksum(data[at - _LINE_WINDOW : at]) & mask == 0:
                return at + 1
            at = find(b"\n", at + 1, limit)
        at = limit
    is_whole = stop - begin == MAX_BYTES  # the end of a file stays one piece: it ends where the file does
    return _cut_without_lines(data, begin, stop) if is_whole else stop


@functools.cache
def next_cut_here() -> Callable[[Union[bytes, bytearray], int, int], int]:
    """The fastest form of `next_cut` on this machine."""
    try:
        compiled = import_module(COMPILED)
    except ImportError:
        return next_cut
    is_same = compiled.RULES == RULES and getattr(compiled, "TAKES_BUFFERS", False)  # older ones took only `bytes`
    return compiled.next_cut if is_same else next_cut


def _cut_without_lines(data: Union[bytes, bytearray], begin: int, stop: int) -> int:
    checksum, tries = zlib.crc32, 0
    first = begin + _HASHING_FROM_BYTES
    if _is_one_value(data, first, stop):
        return stop
    for at in range(first, stop, _STRETCH_BYTES):
        hashes = _rolling_hashes(data, at, min(stop, at + _STRETCH_BYTES))
        place = hashes.find(0)
        while place >= 0:
            behind = at + place + 1
            if checksum(data[behind - _WINDOW : behind]) & _HASHING == 0:
                return behind
            tries += 1
            if tries == _MOST_TRIES:
                return stop
            place = hashes.find(0, place + 1)
    return stop


def _rolling_hashes(data: Union[bytes, bytearray], begin: int, end: int) -> bytes:
    """A byte for each place: the table's bytes of the last nine, each one bit further, by exclusive or."""
    first = begin - _HASHED_BYTES
    number = int.from_bytes(data[first:end].translate(_TABLE), "little")
    number ^= number << 9
    number ^= number << 18
    number ^= number << 36
    return number.to_bytes(end - first + 8, "little")[_HASHED_BYTES : end - first]


def _is_one_value(data: Union[bytes, bytearray], begin: int, stop: int) -> bool:
    """Whether it is one byte again and again, as in files with holes."""
    near = min(stop, begin + 64)
    if data[begin : near - 1] != data[begin + 1 : near]:
        return False
    return data[begin : stop - 1] == data[begin + 1 : stop]


class Hashers:
    """Threads that make digests beside the one that cuts, and the memory they work on. Use it in a `with`."""

    def __init__(self) -> None:
        self.of_pieces = ThreadPoolExecutor(NUM_HASHERS)
        self._free: list[bytearray] = []

    def __enter__(self) -> Hashers:
        return self

    def __exit__(self, *_: object) -> None:
        self.of_pieces.shutdown()

    def take_block(self) -> bytearray:
        """Memory for a block. The kernel clears pages that were not used before, which took as long as reading."""
        return self._free.pop() if self._free else bytearray(BLOCK_BYTES)

    def give_back(self, block: bytearray) -> None:
        self._free.append(block)


class Cutter:
    """Reads one file in blocks. After the last piece, `size` says how much was read."""

    def __init__(self, descriptor: int, hashers: Hashers) -> None:
        self._descriptor = descriptor
        self._hashers = hashers
        self.size = 0

    def pieces(self) -> Iterator[Piece]:
        with open(self._descriptor, "rb", buffering=0, closefd=False) as file:
            first = bytearray(MIN_BYTES + 1)
            self.size = _fill(first, file, 0)
            if self.size <= MIN_BYTES:  # one piece at most: not worth a thread
                if self.size:
                    yield Piece(hashlib.sha256(memoryview(first)[: self.size]).hexdigest(), self.size, 0)
                return
            self.size = 0
            yield from self._pieces_of_blocks(file)

    def _pieces_of_blocks(self, file: FileIO) -> Iterator[Piece]:
        waiting: deque[tuple[Future[list[Piece]], bytearray]] = deque()
        is_last = False
        while not is_last:
            if len(waiting) > BLOCKS_AHEAD:
                yield from self._finish(*waiting.popleft())
            block = self._hashers.take_block()
            has = _fill(block, file, self.size)
            is_last = has < BLOCK_BYTES
            ends = _cut_block(block, has, is_last=is_last)
            waiting.append((self._hashers.of_pieces.submit(_hash_pieces, block, ends, self.size), block))
            self.size += ends[-1] if ends else 0
        while waiting:
            yield from self._finish(*waiting.popleft())

    def _finish(self, hashing: Future[list[Piece]], block: bytearray) -> list[Piece]:
        pieces = hashing.result()
        self._hashers.give_back(block)
        return pieces


def _fill(block: bytearray, file: FileIO, offset: int) -> int:
    """Read from an offset on; return how much there was. Only the end of the file stops it: a file system may give less
    than it is asked for."""
    view, has = memoryview(block), 0
    file.seek(offset)
    while has < len(block) and (more := file.readinto(view[has:])):
        has += more
    return has


def _cut_block(block: bytearray, end: int, *, is_last: bool) -> list[int]:
    """Where the pieces end; what is left behind the last one begins the next block."""
    ends, begin, find = [], 0, next_cut_here()
    while begin < end and (is_last or end - begin >= MAX_BYTES):
        begin = find(block, begin, end)
        ends.append(begin)
    return ends


def _hash_pieces(block: bytearray, ends: list[int], offset: int) -> list[Piece]:
    view, pieces, begin = memoryview(block), [], 0
    for end in ends:
        pieces.append(Piece(hashlib.sha256(view[begin:end]).hexdigest(), end - begin, offset + begin))
        begin = end
    return pieces
