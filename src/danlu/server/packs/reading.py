"""Packs of bytes that are named by their digests, as they arrive."""

from __future__ import annotations

import re

from danlu.content.packs import unpack
from danlu.errors import InvalidInput, TooLarge
from danlu.store.objects.base import Bytes
from danlu.store.objects.packed import Pack, parts_of

_DIGEST = re.compile(r"[0-9a-f]{64}")


def read_pack(body: Bytes, *, min_bytes: int, max_bytes: int, max_pack_bytes: int) -> Pack:
    """Blobs of `min_bytes` to `max_bytes` each. Their digests are checked when they are stored."""
    try:
        header, rest = unpack(body)
        sizes = [int(item["size"]) for item in header]
        digests = [str(item["sha256"]) for item in header]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"the pack cannot be read: {error}; expected sha256 and size of each") from error
    if sum(sizes) != len(rest) or any(not min_bytes <= size <= max_bytes for size in sizes):
        raise InvalidInput(
            f"the pack has {sum(sizes)} bytes by its header, and {len(rest)} came; expected {min_bytes} to {max_bytes} "
            "bytes of each"
        )
    if len(rest) > max_pack_bytes:
        raise TooLarge(f"a pack holds up to {max_pack_bytes} bytes; send several")
    for digest in digests:
        check_digest(digest)
    return Pack(body, parts_of(zip(digests, sizes, strict=True), start=len(body) - len(rest)))


def check_digest(digest: str) -> None:
    if not _DIGEST.fullmatch(digest):
        told = f"expected 64 hexadecimal digits, got {digest[:80]!r}"
        raise InvalidInput(f"digests: {told}", fields={"digests": told})
