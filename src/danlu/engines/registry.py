"""Engines by name, imported on first use."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from danlu.engines.base import Engine
from danlu.errors import MissingExtra, UnknownEngine

BUILTIN = {"local": "danlu.engines.local:LocalEngine", "ray": "danlu.engines.ray:RayEngine"}
PLUGINS = "danlu.engines"


def load_engine(name: str) -> type[Engine]:
    """Return the engine's class. Plugins can add names but not replace built-in ones."""
    known = {entry.name: entry.value for entry in entry_points(group=PLUGINS)} | BUILTIN
    if name not in known:
        raise UnknownEngine(f"no engine {name!r}; known: {', '.join(sorted(known))}")
    module, _, attribute = known[name].partition(":")
    try:
        return cast("type[Engine]", getattr(import_module(module), attribute))
    except ModuleNotFoundError as error:
        raise MissingExtra(f"engine {name!r} needs the package {error.name!r}; install it first") from error
