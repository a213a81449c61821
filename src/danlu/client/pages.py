"""Lists that come in pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional, TypeVar

from pydantic import BaseModel

from danlu.client.http import Http, Query
from danlu.wire.base import Page

M = TypeVar("M", bound=BaseModel)


def pages(http: Http, path: str, of: type[M], *, query: Optional[Query] = None) -> Iterator[M]:
    """Every item of a list; the next page is asked for when it is needed."""
    cursor: Optional[str] = None
    while True:
        page: Page[M] = http.get(path, Page[of], query={**(query or {}), "cursor": cursor})  # type: ignore[valid-type]
        yield from page.items
        if page.next is None:
            return
        cursor = page.next
