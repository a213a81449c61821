"""`import tiacc_training.torch` gives access to its parts as attributes; each is imported on first use."""

from __future__ import annotations

import importlib
from types import ModuleType

PARTS = ("adaptfp16", "distributed", "tiacc_torch_warp")


def __getattr__(name: str) -> ModuleType:
    if name in PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"tiacc_training.torch has no {name!r}; it has: {', '.join(PARTS)}")
