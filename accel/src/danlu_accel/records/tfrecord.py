"""TFRecord framing: the layout of a record in a shard.

at      bytes  content
0       8      L, length of the data, little-endian
8       4      masked crc32c of those 8 bytes
12      L      data: a serialised tf.train.Example
12+L    4      masked crc32c of the data
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from danlu_accel.records.crc32c import Buffer, masked_crc32c
from danlu_accel.records.errors import BadRecordFile

HEAD = struct.Struct("<QI")
FOOT = struct.Struct("<I")
FRAME_BYTES = HEAD.size + FOOT.size
_LENGTH = struct.Struct("<Q")


def frame(data: Buffer) -> tuple[bytes, bytes]:
    """Return header and footer of `data`."""
    length = _LENGTH.pack(len(data))
    return length + FOOT.pack(masked_crc32c(length)), FOOT.pack(masked_crc32c(data))


def unframe(raw: memoryview, *, verify: bool = True, name: str = "shard", begins_at: int = 0) -> memoryview:
    """Return the data of the record at the start of `raw`, without a copy; `begins_at`: its offset in the file."""
    if len(raw) < FRAME_BYTES:
        raise BadRecordFile(f"{name}: no record at byte {begins_at}, the file ends there; pack it again")
    length, length_crc = HEAD.unpack_from(raw)
    if verify and masked_crc32c(raw[: _LENGTH.size]) != length_crc:
        raise BadRecordFile(f"{name}: the record length at byte {begins_at} fails its checksum; the file is damaged")
    if length > len(raw) - FRAME_BYTES:
        raise BadRecordFile(
            f"{name}: expected {length} bytes in the record at byte {begins_at}, got {len(raw) - FRAME_BYTES}; "
            "the file is cut, or it and its index are not of one pack"
        )
    data = raw[HEAD.size : HEAD.size + length]
    if verify and masked_crc32c(data) != FOOT.unpack_from(raw, HEAD.size + length)[0]:
        raise BadRecordFile(f"{name}: the record at byte {begins_at} fails its checksum; the file is damaged")
    return data


def scan(
    file: BinaryIO, num_bytes: int, *, verify: bool = True, name: str = "shard"
) -> Iterator[tuple[int, memoryview]]:
    """Yield (offset, data) of each record of a file of `num_bytes`, from the first byte to the last."""
    offset = 0
    while offset < num_bytes:
        head = file.read(HEAD.size)
        length = HEAD.unpack(head)[0] if len(head) == HEAD.size else 0
        rest = file.read(min(length + FOOT.size, num_bytes - offset))
        data = unframe(memoryview(head + rest), verify=verify, name=name, begins_at=offset)
        yield offset, data
        offset += len(data) + FRAME_BYTES
