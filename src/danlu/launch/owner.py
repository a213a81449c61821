"""Whose job it is, as far as a plan has to know."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

_LOGIN = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
_RESERVED = {"root", "danlu", "ma-user"}
_MADE = "u-"
"""Names that begin so are always made here: nobody can choose one that is made for somebody else."""


class Owner(NamedTuple):
    user: str = "someone"
    project: str = "some"
    project_id: int = 0
    """Names of projects can be changed, and taken by others; this never means another one."""


def login_name(name: str) -> str:
    """A name that may be in /etc/passwd and in a path. Two people never get the same one.

    Names that cannot be used as they are get a digest of the whole name, so that `Li Lei` and `li.lei` stay apart.
    """
    if _LOGIN.fullmatch(name) and name not in _RESERVED and not name.startswith(_MADE):
        return name
    readable = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-")[:12] or "user"
    return f"{_MADE}{readable}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
