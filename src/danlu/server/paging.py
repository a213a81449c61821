"""Cursors. To a client a cursor is a word that it sends back."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import Query

from danlu.errors import InvalidInput

Limit = Annotated[int, Query(ge=1, le=1000)]
Cursor = Annotated[Optional[str], Query(max_length=2000)]


def bad_cursor(cursor: str) -> InvalidInput:
    problem = f"{cursor[:40]!r} is not a place in this list; send back the `next` of the page before"
    return InvalidInput(f"cursor: {problem}", fields={"cursor": problem})
