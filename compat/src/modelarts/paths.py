"""Convert OBS paths to store paths."""

from __future__ import annotations

import re

_SCHEME = re.compile(r"^(obs|s3|store):/+", re.IGNORECASE)


def store_path(path: str) -> str:
    """`/bucket/folder/`, `obs://bucket/folder/` and `s3://bucket/folder/` are equivalent."""
    return "store://" + re.sub("/+", "/", _SCHEME.sub("", path)).lstrip("/")


def obs_path(path: str) -> str:
    """Return the path in the form that scripts of the first ModelArts expect."""
    return "s3://" + store_path(path)[len("store://") :]
