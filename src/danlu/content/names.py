"""Artifacts: their names, ids, and how versions are named."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

MAX_NAME_CHARS = 200
LATEST = "latest"
_ID = re.compile(r"art-[a-z2-7]{26}")
_ID_BEGINS = re.compile(r"art-[a-z2-7]{1,25}")
_PART = re.compile(r"[^\W_][\w.-]*")
_ALIAS = re.compile(r"[^\W\d_][\w.-]{0,59}")


class Named(NamedTuple):
    """`name`, `name:3`, `name:latest` or `name:best`, taken apart."""

    name: str
    version: Optional[int] = None
    alias: Optional[str] = None


def is_artifact_id(text: str) -> bool:
    """Whether it is the id of a version; clients make them."""
    return _ID.fullmatch(text) is not None


def begins_artifact_id(text: str) -> bool:
    """Whether it may be the beginning of an id; it may be a name too."""
    return _ID_BEGINS.fullmatch(text) is not None


def check_artifact_name(name: str) -> str:
    """Return the name, or raise ValueError that says what is expected."""
    parts = name.split("/")
    if len(name) > MAX_NAME_CHARS or not all(_PART.fullmatch(part) for part in parts):
        raise ValueError(
            f"{name[:80]!r} cannot be the name of an artifact; expected up to {MAX_NAME_CHARS} letters, digits, dots, "
            "dashes and underscores, with slashes between folders, such as vision/mnist-model"
        )
    return name


def check_alias(alias: str) -> str:
    if not _ALIAS.fullmatch(alias) or alias == LATEST:
        raise ValueError(
            f"{alias[:80]!r} cannot be an alias; expected a letter and up to 59 letters, digits, dots, dashes and "
            "underscores, such as best; latest is always the newest version"
        )
    return alias


def parse_named(text: str) -> Named:
    """Read what names a version. Raise ValueError that says what is expected."""
    name, colon, which = text.partition(":")
    check_artifact_name(name)
    if not colon or which == LATEST:
        return Named(name)
    digits = which[1:] if which[:1] in ("v", "V") and which[1:].isdigit() else which
    if digits.isascii() and digits.isdigit() and len(digits) < 10:
        return Named(name, version=int(digits))
    try:
        return Named(name, alias=check_alias(which))
    except ValueError:
        raise ValueError(f"{text[:120]!r}: a version is a number, latest or an alias, such as {name}:3") from None
