"""Many small files in one request: a header that names them, and then their bytes, one after the other.

4 bytes, big-endian: length of the header      the header: a JSON list      the bytes
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Optional

from pydantic import Field

from danlu.wire.base import Answer, Body

SMALL_BYTES = 256 << 10
"""Files up to this size travel in batches."""

BATCH_BYTES, BATCH_FILES = 4 << 20, 200
"""How much a sender puts into one batch."""

MAX_BATCH_BYTES, MAX_BATCH_FILES = 32 << 20, 1000
"""How much a server takes."""

_LENGTH = struct.Struct(">I")


class BatchFile(Body):
    """A file that is sent."""

    key: str
    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class RefusedFile(Answer):
    key: str
    status: int
    error: str
    message: str


class BatchOut(Answer):
    num_stored: int
    refused: list[RefusedFile] = []
    """Those that are not stored, and why; the others are."""


class ReadBatch(Body):
    """Objects that are wanted, all of one bucket."""

    keys: list[str] = Field(max_length=MAX_BATCH_FILES)


class ReadFile(Answer):
    """A file that is answered. Without a size it is not among the bytes."""

    key: str
    size: Optional[int] = None
    sha256: Optional[str] = None
    is_missing: bool = False
    """Whether there is no such object; otherwise it is too large, and is fetched by itself."""


def pack(header: Sequence[dict[str, Any]], pieces: Iterable[bytes]) -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    return b"".join((_LENGTH.pack(len(text)), text, *pieces))


def unpack(data: bytes) -> tuple[list[dict[str, Any]], memoryview]:
    """Return the header and the bytes after it. Raise ValueError when it is not whole."""
    if len(data) < _LENGTH.size:
        raise ValueError("a batch begins with the length of its header in 4 bytes")
    (length,) = _LENGTH.unpack_from(data)
    end = _LENGTH.size + length
    if len(data) < end:
        raise ValueError(f"the batch's header should have {length} bytes, and ends early")
    header = json.loads(data[_LENGTH.size : end])
    if not isinstance(header, list) or not all(isinstance(item, dict) for item in header):
        raise ValueError("the batch's header should be a list of objects")
    return header, memoryview(data)[end:]
