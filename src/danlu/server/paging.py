"""Pages of lists. Cursors are opaque to clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Optional, TypeVar

from fastapi import Query

from danlu.errors import InvalidInput
from danlu.server.invalid import bad_field
from danlu.wire.base import Page

T = TypeVar("T")
Limit = Annotated[int, Query(ge=1, le=1000)]
Cursor = Annotated[Optional[str], Query(max_length=2000)]
MAX_DIGITS = 18
"""All such numbers fit into 64 bits."""


def page_of(items: Sequence[T], limit: int, cursor: Callable[[T], str]) -> Page[T]:
    """A page of a list, from up to `limit` + 1 items."""
    shown, after = cut(items, limit, cursor)
    return Page(items=list(shown), next=after)


def cut(rows: Sequence[T], limit: int, cursor: Callable[[T], str]) -> tuple[Sequence[T], Optional[str]]:
    """The rows of a page, from up to `limit` + 1 rows, and the cursor of the next page."""
    return rows[:limit], cursor(rows[limit - 1]) if len(rows) > limit else None


def number_in(cursor: Optional[str], *, max_digits: int = MAX_DIGITS) -> Optional[int]:
    """The number in a cursor; None for the beginning of the list."""
    if cursor is None:
        return None
    if not is_number(cursor, max_digits=max_digits):
        raise bad_cursor(cursor)
    return int(cursor)


def is_number(text: str, *, max_digits: int = MAX_DIGITS) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= max_digits


def bad_cursor(cursor: str) -> InvalidInput:
    return bad_field("cursor", f"{cursor[:40]!r} is not a cursor of this list; send the `next` of the previous page")
