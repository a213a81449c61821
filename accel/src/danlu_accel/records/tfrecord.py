"""TFRecord framing: how one record lies in a shard.

at      bytes  what
0       8      L, length of the data, little-endian
8       4      masked crc32c of those 8 bytes
12      L      data: a serialised tf.train.Example
12+L    4      masked crc32c of the data
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from danlu_accel.records.crc32c import Buffer, masked_crc32c
from danlu_accel.records.errors import BadRecordFile

HEAD = struct.Struct("<QI")
FOOT = struct.Struct("<I")
FRAME_BYTES = HEAD.size + FOOT.size
_LENGTH = struct.Struct("<Q")


def frame(data: Buffer) -> tuple[bytes, bytes]:
    """Return what goes before and after `data` in the file."""
    length = _LENGTH.pack(len(data))
    return length + FOOT.pack(masked_crc32c(length)), FOOT.pack(masked_crc32c(data))


def read_at(shard: memoryview, offset: int, *, verify: bool = True, name: str = "shard") -> memoryview:
    """Return the data of the record that begins at `offset`, without copying it."""
    if offset < 0 or offset + FRAME_BYTES > len(shard):
        raise BadRecordFile(f"{name}: no record at byte {offset}, the file has {len(shard)} bytes; pack it again")
    length, length_crc = HEAD.unpack_from(shard, offset)
    if verify and masked_crc32c(shard[offset : offset + 8]) != length_crc:
        raise BadRecordFile(f"{name}: the record length at byte {offset} fails its checksum; the file is damaged")
    start = offset + HEAD.size
    if length > len(shard) - start - FOOT.size:
        raise BadRecordFile(f"{name}: the record at byte {offset} says {length} bytes, more than the file has left")
    data = shard[start : start + length]
    if verify and masked_crc32c(data) != FOOT.unpack_from(shard, start + length)[0]:
        raise BadRecordFile(f"{name}: the record at byte {offset} fails its checksum; the file is damaged")
    return data


def scan(shard: memoryview, *, verify: bool = True, name: str = "shard") -> Iterator[tuple[int, memoryview]]:
    """Yield (offset, data) of each record from the first byte to the last."""
    offset = 0
    while offset < len(shard):
        data = read_at(shard, offset, verify=verify, name=name)
        yield offset, data
        offset += len(data) + FRAME_BYTES
