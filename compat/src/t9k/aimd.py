"""`t9k.aimd`. Its interface is not public, so it is not supported; each use raises an error."""

from __future__ import annotations

from typing import NoReturn


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(f"module 't9k.aimd' has no attribute {name!r}")
    raise NotImplementedError(f"t9k.aimd.{name} is not there on Danlu: `t9k.em` and `danlu.track` record experiments")
