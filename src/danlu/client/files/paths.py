"""URL paths of the API."""

from __future__ import annotations

from urllib.parse import quote

from danlu.errors import InvalidInput


def quote_part(name: str) -> str:
    """Quote a name as one segment of a path. Raise InvalidInput for a name that cannot exist."""
    if name in ("", ".", ".."):
        raise InvalidInput(f"{name!r} is not a name")
    return quote(name, safe="")
