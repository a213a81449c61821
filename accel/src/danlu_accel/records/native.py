"""The compiled core, or None. All code gets it from here.

`DANLU_RECORDS_NATIVE=0` disables the core: tests run both ways, and users can rule it out when debugging.
"""

from __future__ import annotations

import os
from enum import IntEnum
from importlib import import_module
from types import ModuleType
from typing import Any

from danlu_accel.records.augment import ColorJitter
from danlu_accel.records.recipe import Recipe

HOW_TO_GET_IT = (
    "the compiled core of danlu_accel.records is not there, images go through Pillow; to get the fast path install a "
    "C++ compiler and libjpeg-turbo's headers (Debian: apt-get install g++ libjpeg62-turbo-dev; Ubuntu: g++ "
    "libjpeg-turbo8-dev), then: pip install --force-reinstall --no-deps danlu-accel"
)


def _load() -> ModuleType | None:
    if os.environ.get("DANLU_RECORDS_NATIVE") == "0":
        return None
    try:
        return import_module("danlu_accel.records._core")
    except ImportError:
        return None


core = _load()


class Status(IntEnum):
    """Result of one image in the core; the C++ counterpart is in native/jpeg.h."""

    OK = 0
    NOT_JPEG = 1
    UNSUPPORTED = 2
    BROKEN = 3
    BAD_RECORD = 4
    READ_FAILED = 5


def to_native(recipe: Recipe) -> Any:
    """Convert a recipe for the compiled core."""
    assert core is not None
    made = core.Recipe()
    made.crop = recipe.crop.value
    for name in ("width", "height", "scale", "ratio", "short_side", "flip_probability", "mean", "std"):
        setattr(made, name, getattr(recipe, name))
    made.normalise = not recipe.as_bytes
    made.channels_last = recipe.channels_last
    for step in recipe.augment:
        if isinstance(step, ColorJitter):
            ranges = [value for found in step.ranges for value in found or (0.0, 0.0)]
            made.add_jitter(ranges, [found is not None for found in step.ranges])
        elif step.num_ops:
            table = step.table(recipe.width, recipe.height)
            made.add_choices((step.num_ops, step.bin), table, step.fill, step.is_bilinear)
    if recipe.erasing is not None:
        erasing = recipe.erasing
        made.set_erasing(erasing.probability, (*erasing.scale, *erasing.ratio), recipe.erased_value)
    return made


def advice() -> str:
    """Describe how images are decoded here, and what to do if it is the slow way."""
    if core is not None:
        return f"native core: {core.build_info()}"
    if os.environ.get("DANLU_RECORDS_NATIVE") == "0":
        return "the compiled core is turned off by DANLU_RECORDS_NATIVE=0, images go through Pillow"
    return HOW_TO_GET_IT
