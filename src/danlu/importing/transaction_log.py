"""Read block-based record logs in LevelDB's format, which W&B and SwanLab use.

file   | magic: 4 bytes | checked u16 | version u8 |  record  record  record ...
record | crc32 u32 | length u16 | kind u8: 1 whole, 2 first, 3 middle, 4 last | data |
         records do not cross the boundaries of 32 KiB blocks; the file header is part of the first block
         the checksum is zlib's, of the kind and the data
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

HEADER = struct.Struct("<4sHB")  # magic, number, version
RECORD = struct.Struct("<IHB")  # crc, length, kind
BLOCK_BYTES = 32_768
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
MAX_RECORD_BYTES = 64 << 20
"""Limit for a record in several parts. Longer ones are skipped and reported as damaged."""


class Magic(NamedTuple):
    """Expected file header."""

    ident: bytes
    number: int
    versions: tuple[int, ...]
    what: str


class NotALog(ValueError):
    """The file is not such a log."""


class Damage:
    """Damaged parts of a log."""

    def __init__(self) -> None:
        self.places: list[int] = []
        """Offsets of damage."""

        self.is_cut = False

    @property
    def problem(self) -> str:
        """One sentence; empty when the log is undamaged."""
        if self.places:
            return f"{len(self.places)} damaged places, the first at byte {self.places[0]}; the rest was read"
        return "the last record is not whole; what is before it was read" if self.is_cut else ""


def check_header(file: BinaryIO, magic: Magic) -> None:
    head = file.read(HEADER.size)
    if len(head) < HEADER.size:
        raise NotALog(f"not {magic.what}: it has {len(head)} bytes, a header has {HEADER.size}")
    ident, number, version = HEADER.unpack(head)
    if ident != magic.ident or number != magic.number:
        raise NotALog(f"not {magic.what}: it begins with {ident!r} instead of {magic.ident!r}")
    if version not in magic.versions:
        known = ", ".join(str(one) for one in magic.versions)
        raise NotALog(f"{magic.what} of version {version}; this danlu reads {known}")


def read_records(file: BinaryIO, magic: Magic, *, damage: Damage) -> Iterator[bytes]:
    """Yield the records of a log in order. After damage, continues with the next block."""
    check_header(file, magic)
    size = os.fstat(file.fileno()).st_size
    parts: list[bytes] = []
    num_bytes = 0
    for at, kind, data in _pieces(file, size, damage):
        if kind in (WHOLE, FIRST):
            if parts:
                damage.places.append(at)
            parts, num_bytes = [], 0
        elif not parts:
            continue  # continues a record whose start was damaged
        parts.append(data)
        num_bytes += len(data)
        if num_bytes > MAX_RECORD_BYTES:
            damage.places.append(at)
            parts, num_bytes = [], 0
        elif kind in (WHOLE, LAST):
            yield b"".join(parts)
            parts, num_bytes = [], 0
    damage.is_cut = damage.is_cut or bool(parts)


def _pieces(file: BinaryIO, size: int, damage: Damage) -> Iterator[tuple[int, int, bytes]]:
    at = HEADER.size
    while at < size:
        left = BLOCK_BYTES - at % BLOCK_BYTES
        if left < RECORD.size:
            at += left
            continue
        file.seek(at)
        head = file.read(RECORD.size)
        if len(head) < RECORD.size:
            damage.is_cut = True
            return
        crc, length, kind = RECORD.unpack(head)
        if length > left - RECORD.size or not WHOLE <= kind <= LAST:
            damage.places.append(at)
            at += left
            continue
        data = file.read(length)
        if len(data) < length:
            damage.is_cut = True
            return
        if zlib.crc32(data, zlib.crc32(bytes((kind,)))) != crc:
            damage.places.append(at)
            at += left
            continue
        yield at, kind, data
        at += RECORD.size + length
