"""The owner of a job, as far as a plan depends on it."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

_LOGIN = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
_RESERVED = {"root", "danlu", "ma-user"}
_MADE = "u-"
"""Prefix of generated login names. User names with it are replaced too, so that nobody can choose a generated name."""


class Owner(NamedTuple):
    user: str = "someone"
    project: str = "some"
    project_id: int = 0
    """Never reused, unlike names of projects."""


def login_name(name: str) -> str:
    """A name that is valid in /etc/passwd and in a path. Unique per user.

    Names that are not valid are replaced by one with a digest, so that `Li Lei` and `li.lei` differ.
    """
    if _LOGIN.fullmatch(name) and name not in _RESERVED and not name.startswith(_MADE):
        return name
    readable = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-")[:12] or "user"
    return f"{_MADE}{readable}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
