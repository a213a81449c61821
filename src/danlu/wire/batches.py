"""Many small files in one request, packed as `danlu.content.packs` says."""

from __future__ import annotations

from typing import Optional

from pydantic import Field

from danlu.wire.base import Answer, Body

MAX_BATCH_BYTES, MAX_BATCH_FILES = 32 << 20, 1000
"""How much a server takes."""


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
    """Whether there is no such object; otherwise it is too large for a batch, and is fetched separately."""


class ReadBlobs(Body):
    """Files of a tree that are wanted, by their digests."""

    digests: list[str] = Field(max_length=MAX_BATCH_FILES)


class BlobsOut(Answer):
    num_stored: int
