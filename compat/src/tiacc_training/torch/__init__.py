"""`import tiacc_training.torch` gives access to its parts by attribute, each loaded when it is used."""

from __future__ import annotations

import importlib
from types import ModuleType

PARTS = ("adaptfp16", "distributed", "tiacc_torch_warp")


def __getattr__(name: str) -> ModuleType:
    if name in PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"tiacc_training.torch has no {name!r}; it has: {', '.join(PARTS)}")
