"""Paged lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional, TypeVar

from pydantic import BaseModel

from danlu.client.http import Http, Query
from danlu.wire.base import Page

M = TypeVar("M", bound=BaseModel)


def pages(http: Http, path: str, of: type[M], *, query: Optional[Query] = None) -> Iterator[M]:
    """Yield every item of a list; pages are fetched as needed."""
    cursor: Optional[str] = None
    while True:
        page: Page[M] = http.get(path, Page[of], query={**(query or {}), "cursor": cursor})  # type: ignore[valid-type]
        yield from page.items
        if page.next is None:
            return
        cursor = page.next
