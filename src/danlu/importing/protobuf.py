"""Decode protocol buffers field by field, as far as files of other trackers need."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Optional

VARINT, DOUBLE, BYTES, SINGLE = 0, 1, 2, 5
MAX_VARINT_BITS = 63


class BadMessage(ValueError):
    """The bytes are not a valid message."""


def fields(data: Any) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each field: integers as int, everything else as bytes.

    Nested messages are bytes too and decoded on demand, so nesting cannot be too deep.
    """
    if data is not None and not isinstance(data, bytes):
        raise BadMessage(f"expected a message, got the number {data}")
    data = data or b""
    at, end = 0, len(data)
    while at < end:
        key = data[at]  # nearly all keys and lengths fit into one byte
        at += 1
        if key > 127:
            key, at = _varint(data, at - 1)
        kind = key & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == BYTES:
            length = data[at] if at < end else 128
            at += 1
            if length > 127:
                length, at = _varint(data, at - 1)
        elif kind in (DOUBLE, SINGLE):
            length = 8 if kind == DOUBLE else 4
        else:
            raise BadMessage(f"wire type {kind}")
        if at + length > end:
            raise BadMessage("a field is longer than its message")
        yield key >> 3, data[at : at + length]
        at += length


def message(data: Any) -> dict[int, list[Any]]:
    """Return all values of each field, in order. A number in place of a message counts as an empty message."""
    found: dict[int, list[Any]] = {}
    for number, value in fields(data if isinstance(data, bytes) else b""):
        found.setdefault(number, []).append(value)
    return found


def sub(data: Any, wanted: int) -> Any:
    """Return the first value of a field; None when there is none."""
    return next((value for number, value in fields(data if isinstance(data, bytes) else b"") if number == wanted), None)


def text(value: Any) -> str:
    """Return bytes as text; empty for other values."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def signed(value: Any) -> int:
    """Return an int64 value with its sign."""
    if not isinstance(value, int):
        return 0
    number = int(value) & ((1 << 64) - 1)
    return number - (1 << 64) if number >= 1 << 63 else number


def double(value: Any) -> Optional[float]:
    return float(struct.unpack("<d", value)[0]) if isinstance(value, bytes) and len(value) == 8 else None


def seconds(value: Any) -> Optional[float]:
    """Return a `google.protobuf.Timestamp` as Unix seconds."""
    if not isinstance(value, bytes):
        return None
    found = message(value)
    return signed(found.get(1, [0])[-1]) + signed(found.get(2, [0])[-1]) / 1e9


def packed(data: Any, code: str) -> list[float]:
    """Return packed numbers of format `f` or `d`."""
    size = struct.calcsize(code)
    if not isinstance(data, bytes):
        return []
    return [float(value) for (value,) in struct.iter_unpack("<" + code, data[: len(data) // size * size])]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise BadMessage("a number ends with its message")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > MAX_VARINT_BITS:
            raise BadMessage("a number is too long")
