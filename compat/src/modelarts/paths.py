"""Paths of OBS as paths of the store."""

from __future__ import annotations

import re

_SCHEME = re.compile(r"^(obs|s3|store):/+", re.IGNORECASE)


def store_path(path: str) -> str:
    """`/bucket/folder/`, `obs://bucket/folder/` and `s3://bucket/folder/` are the same."""
    return "store://" + re.sub("/+", "/", _SCHEME.sub("", path)).lstrip("/")


def obs_path(path: str) -> str:
    """The same place as a script of the first ModelArts gets it."""
    return "s3://" + store_path(path)[len("store://") :]
