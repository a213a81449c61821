"""Encode and decode tf.train.Example without TensorFlow or protobuf.

    Example  { 1: Features }
    Features { 1: repeated entry { 1: key, 2: Feature } }
    Feature  { 1: BytesList | 2: FloatList | 3: Int64List }      each list: { 1: repeated value }, numbers packed

Decoding does not copy: a bytes value is a slice of the input buffer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

from danlu_accel.records.errors import BadRecordFile

Value = Union[bytes, str, int, float, Sequence[bytes], Sequence[str], Sequence[int], Sequence[float]]
Feature = list[Union[memoryview, float, int]]

VARINT, FIXED64, LENGTH_DELIMITED, FIXED32 = 0, 1, 2, 5
BYTES_LIST, FLOAT_LIST, INT64_LIST = 1, 2, 3


def encode_example(features: Mapping[str, Value]) -> bytes:
    """Return the serialised Example. Keys are sorted, so equal features give equal bytes."""
    entries = []
    for key in sorted(features):
        entry = _field(1, key.encode()) + _field(2, _encode_feature(features[key]))
        entries.append(_field(1, entry))
    return _field(1, b"".join(entries))


def decode_example(data: memoryview) -> dict[str, Feature]:
    """Return all features by name; raise BadRecordFile if the bytes are not an Example."""
    features: dict[str, Feature] = {}
    try:
        for number, body in _walk(data):
            if number != 1 or isinstance(body, int):
                continue
            for entry_number, entry in _walk(body):
                if entry_number == 1 and not isinstance(entry, int):
                    key, feature = _decode_entry(entry)
                    features[key] = feature
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise BadRecordFile(f"the record of {len(data)} bytes is no tf.train.Example: {error}") from error
    return features


def _encode_feature(value: Value) -> bytes:
    values: list[Any] = [value] if isinstance(value, (bytes, str, int, float)) else list(value)
    if not values:
        return b""
    if isinstance(values[0], (bytes, str)):
        raw = (item.encode() if isinstance(item, str) else bytes(item) for item in values)
        return _field(BYTES_LIST, b"".join(_field(1, item) for item in raw))
    if isinstance(values[0], float):
        return _field(FLOAT_LIST, _field(1, struct.pack(f"<{len(values)}f", *values)))
    packed = b"".join(_varint(int(item) & 0xFFFFFFFFFFFFFFFF) for item in values)
    return _field(INT64_LIST, _field(1, packed))


def _decode_entry(entry: memoryview) -> tuple[str, Feature]:
    key, feature = "", []
    for number, body in _walk(entry):
        if isinstance(body, int):
            continue
        if number == 1:
            key = str(body, "utf-8")
        elif number == 2:
            feature = _decode_feature(body)
    return key, feature


def _decode_feature(data: memoryview) -> Feature:
    values: Feature = []
    for kind, body in _walk(data):
        if isinstance(body, int):
            continue
        if kind == BYTES_LIST:
            values.extend(item for number, item in _walk(body) if number == 1 and not isinstance(item, int))
        elif kind == FLOAT_LIST:
            for _, item in _walk(body):
                if isinstance(item, int):
                    values.append(struct.unpack("<f", struct.pack("<I", item))[0])
                else:
                    values.extend(struct.unpack(f"<{len(item) // 4}f", item[: len(item) // 4 * 4]))
        elif kind == INT64_LIST:
            for _, item in _walk(body):
                values.extend([_signed(item)] if isinstance(item, int) else _unpack_varints(item))
    return values


def _walk(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield (field number, value) of one message; a length-delimited value is a slice."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _read_varint(data, at)
        wire_type = tag & 7
        if wire_type == VARINT:
            value, at = _read_varint(data, at)
            yield tag >> 3, value
            continue
        if wire_type == LENGTH_DELIMITED:
            size, at = _read_varint(data, at)
        elif wire_type in (FIXED32, FIXED64):
            size = 4 if wire_type == FIXED32 else 8
        else:
            raise IndexError(f"wire type {wire_type}")
        if size > end - at:
            raise IndexError(f"a field of {size} bytes with {end - at} left")
        body = data[at : at + size]
        yield tag >> 3, body if wire_type == LENGTH_DELIMITED else int.from_bytes(body, "little")
        at += size


def _unpack_varints(data: memoryview) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _read_varint(data, at)
        yield _signed(value)


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise IndexError("a number of more than 64 bits")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _field(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | LENGTH_DELIMITED) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
