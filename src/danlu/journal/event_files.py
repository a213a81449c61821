"""Write TensorBoard event files, as far as scalars need. A record:

    8 bytes length, 4 bytes masked crc32c of them, the event, 4 bytes masked crc32c of the event

and an event is a protocol buffer: wall_time (1), step (2), summary (5) with values (1) of tag (1) and number (2).
"""

from __future__ import annotations

import struct

_POLYNOMIAL, _MASK_DELTA = 0x82F63B78, 0xA282EAD8


def _table() -> list[int]:
    table = []
    for byte in range(256):
        number = byte
        for _ in range(8):
            number = (number >> 1) ^ (_POLYNOMIAL if number & 1 else 0)
        table.append(number)
    return table


CRC32C = _table()


def masked_crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return masked(crc)


def masked(crc: int) -> int:
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def record(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    return b"".join((length, struct.pack("<I", masked_crc32c(length)), event, struct.pack("<I", masked_crc32c(event))))


def version_event(at: float) -> bytes:
    """The first record of every event file."""
    return struct.pack("<Bd", 0x09, at) + _text(0x1A, "brain.Event:2")


def scalar_event(at: float, step: int, *, tag: str, value: float) -> bytes:
    number = _text(0x0A, tag) + struct.pack("<Bf", 0x15, _single(value))
    summary = _field(0x0A, number)
    return struct.pack("<Bd", 0x09, at) + b"\x10" + _varint(step & 0xFFFFFFFFFFFFFFFF) + _field(0x2A, summary)


def _single(value: float) -> float:
    """Clamp a number to the range of a 32-bit float, as infinity."""
    try:
        struct.pack("<f", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value


def _varint(number: int) -> bytes:
    parts = []
    while number > 0x7F:
        parts.append((number & 0x7F) | 0x80)
        number >>= 7
    return bytes((*parts, number))


def _field(key: int, data: bytes) -> bytes:
    return bytes((key,)) + _varint(len(data)) + data


def _text(key: int, text: str) -> bytes:
    return _field(key, text.encode(errors="replace"))
