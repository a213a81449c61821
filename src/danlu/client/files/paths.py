"""Paths of the API."""

from __future__ import annotations

from urllib.parse import quote

from danlu.errors import InvalidInput
from danlu.spec.paths import StorePath


def quote_part(name: str) -> str:
    """A name as one part of a path. Raise InvalidInput for one that could not be anybody's."""
    if name in ("", ".", ".."):
        raise InvalidInput(f"{name!r} is not a name")
    return quote(name, safe="")


def object_path(where: StorePath) -> str:
    """The path of an object in the API."""
    return f"/buckets/{where.bucket}/objects/{quote(where.key, safe='/')}"
