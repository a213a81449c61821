"""Paths of the API."""

from __future__ import annotations

from urllib.parse import quote

from danlu.errors import InvalidInput


def quote_part(name: str) -> str:
    """A name as one part of a path. Raise InvalidInput for one that could not be anybody's."""
    if name in ("", ".", ".."):
        raise InvalidInput(f"{name!r} is not a name")
    return quote(name, safe="")
