"""`t9k.aimd`. What it offers is not public, so that nothing of it can be had here; each use says so."""

from __future__ import annotations

from typing import NoReturn


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(f"module 't9k.aimd' has no attribute {name!r}")
    raise NotImplementedError(f"t9k.aimd.{name} is not there on Danlu: `t9k.em` and `danlu.track` record experiments")
