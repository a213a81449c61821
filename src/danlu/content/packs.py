"""Many pieces of bytes in one body: a header that names them, and then their bytes, one after the other.

4 bytes, big-endian: length of the header      the header: a JSON list      the bytes
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Union

SMALL_BYTES = 256 << 10
"""Files up to this size travel together with others."""

_LENGTH = struct.Struct(">I")


def pack(header: Sequence[dict[str, Any]], pieces: Iterable[Union[bytes, memoryview]]) -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    return b"".join((_LENGTH.pack(len(text)), text, *pieces))


def unpack(data: Union[bytes, memoryview]) -> tuple[list[dict[str, Any]], memoryview]:
    """Return the header and the bytes after it. Raise ValueError when it is not whole."""
    if len(data) < _LENGTH.size:
        raise ValueError("a batch begins with the length of its header in 4 bytes")
    (length,) = _LENGTH.unpack_from(data)
    end = _LENGTH.size + length
    if len(data) < end:
        raise ValueError(f"the batch's header should have {length} bytes, and ends early")
    try:
        header = json.loads(bytes(data[_LENGTH.size : end]))
    except RecursionError as error:
        raise ValueError("the batch's header should be a list of objects, and is deeper than that") from error
    if not isinstance(header, list) or not all(isinstance(item, dict) for item in header):
        raise ValueError("the batch's header should be a list of objects")
    return header, memoryview(data)[end:]
