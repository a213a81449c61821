"""Short words for what tests do with an object store."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable

from danlu.spec.paths import StorePath
from danlu.store.objects.base import Objects

Web = Callable[..., tuple[int, bytes]]


def at(key: str) -> StorePath:
    return StorePath("main", key)


def put(objects: Objects, key: str, data: bytes = b"x") -> None:
    writer = objects.put(at(key))
    writer.write(data)
    writer.commit()


def read(objects: Objects, key: str) -> bytes:
    return b"".join(objects.read(at(key)))


def md5_of(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data).digest()).decode()


def all_keys(objects: Objects, *, prefix: str = "", delimiter: str = "", limit: int = 1000) -> list[str]:
    """Keys and folders over all pages, in the order they come."""
    found: list[str] = []
    after = ""
    while True:
        page = objects.list("main", prefix=prefix, delimiter=delimiter, after=after, limit=limit)
        assert len(page.objects) + len(page.folders) <= limit
        found += sorted([item.key for item in page.objects] + page.folders)
        if page.next is None:
            return found
        assert page.next > after
        after = page.next
