"""Paths of the API."""

from __future__ import annotations

from urllib.parse import quote

from danlu.spec.paths import StorePath


def object_path(where: StorePath) -> str:
    """The path of an object in the API."""
    return f"/buckets/{where.bucket}/objects/{quote(where.key, safe='/')}"
