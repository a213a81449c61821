"""Operations of a Recipe on the pixels of a crop: torchvision's automatic augmentations, colour jitter, random erasing.

Each step defines what may be drawn; draws.py draws `Operation`s from it. The C++ counterpart is native/augment.h.
Magnitudes are exact; torchvision computes in float32 and misses some by the last bit, as 15.999999 for 16.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]
Range = tuple[float, float]
MAX_FACTOR = 1e6


class Op(IntEnum):
    """One operation on a picture. RandAugment and TrivialAugmentWide choose from the first 14, in this order."""

    IDENTITY = 0
    SHEAR_X = 1
    SHEAR_Y = 2
    TRANSLATE_X = 3
    TRANSLATE_Y = 4
    ROTATE = 5
    BRIGHTNESS = 6
    COLOR = 7
    CONTRAST = 8
    SHARPNESS = 9
    POSTERIZE = 10
    SOLARIZE = 11
    AUTOCONTRAST = 12
    EQUALIZE = 13
    HUE = 14


NUM_CHOICES = 14


@dataclass(frozen=True)
class Operation:
    """An `Op` with its drawn `value`: angle in degrees, shift in pixels, number of bits, threshold or colour factor."""

    op: Op
    value: float
    fill: tuple[int, int, int] = (0, 0, 0)
    """Fill colour outside of the picture."""
    is_bilinear: bool = False
    """Interpolation of a sheared or rotated picture: bilinear, else nearest."""


class Choosing(ABC):
    """Steps that choose among the 14 operations."""

    num_ops: int
    num_magnitude_bins: int
    fill: tuple[int, int, int]
    is_bilinear: bool

    @property
    @abstractmethod
    def bin(self) -> int:
        """Index of the magnitude; -1: drawn at random."""

    @abstractmethod
    def table(self, width: int, height: int) -> Table:
        """Return the magnitudes of all operations for a picture of this size: [operation, bin], without signs."""

    def _check(self) -> None:
        if not 0 <= self.num_ops <= 64:
            raise ValueError(f"num_ops: expected 0 to 64, got {self.num_ops}")
        if not 2 <= self.num_magnitude_bins <= 1024:
            raise ValueError(f"num_magnitude_bins: expected 2 to 1024, got {self.num_magnitude_bins}")
        if not -1 <= self.bin < self.num_magnitude_bins:
            raise ValueError(f"magnitude: expected 0 to {self.num_magnitude_bins - 1}, got {self.bin}")
        if len(self.fill) != 3 or not all(0 <= value <= 255 for value in self.fill):
            raise ValueError(f"fill: expected three levels of 0 to 255, got {self.fill}")


@dataclass(frozen=True)
class RandAugment(Choosing):
    """torchvision's RandAugment: `num_ops` operations in a row, all of the same magnitude."""

    num_ops: int = 2
    magnitude: int = 9
    num_magnitude_bins: int = 31
    fill: tuple[int, int, int] = (0, 0, 0)
    is_bilinear: bool = False

    def __post_init__(self) -> None:
        if self.magnitude < 0:
            raise ValueError(f"magnitude: expected 0 to {self.num_magnitude_bins - 1}, got {self.magnitude}")
        self._check()

    @property
    def bin(self) -> int:
        return self.magnitude

    def table(self, width: int, height: int) -> Table:
        shift = 150.0 / 331.0
        return _table(self.num_magnitude_bins, (0.3, shift * width, shift * height, 30.0, 0.9, 4))


@dataclass(frozen=True)
class TrivialAugment(Choosing):
    """torchvision's TrivialAugmentWide: one operation of random magnitude."""

    num_magnitude_bins: int = 31
    fill: tuple[int, int, int] = (0, 0, 0)
    is_bilinear: bool = False
    num_ops = 1
    bin = -1

    def __post_init__(self) -> None:
        self._check()

    def table(self, width: int, height: int) -> Table:  # noqa: ARG002 - shifts are in pixels here
        return _table(self.num_magnitude_bins, (0.99, 32.0, 32.0, 135.0, 0.99, 6))


@dataclass(frozen=True)
class ColorJitter:
    """torchvision's ColorJitter: factors drawn from these ranges, applied in random order; None: unchanged."""

    brightness: Range | None = None
    contrast: Range | None = None
    saturation: Range | None = None
    hue: Range | None = None
    """Shift of the hue as a share of a full turn, -0.5 to 0.5."""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("brightness", 0.0, MAX_FACTOR),
            ("contrast", 0.0, MAX_FACTOR),
            ("saturation", 0.0, MAX_FACTOR),
            ("hue", -0.5, 0.5),
        ):
            found = getattr(self, name)
            if found is not None and not low <= found[0] <= found[1] <= high:
                raise ValueError(f"{name}: expected (smallest, largest) within {low} and {high}, got {found}")

    @property
    def ranges(self) -> tuple[Range | None, ...]:
        """The four ranges in torchvision's order, which is that of JITTER_OPS."""
        return self.brightness, self.contrast, self.saturation, self.hue


JITTER_OPS = (Op.BRIGHTNESS, Op.CONTRAST, Op.COLOR, Op.HUE)


@dataclass(frozen=True)
class Erasing:
    """torchvision's RandomErasing: fills a rectangle of the finished picture with one colour."""

    probability: float = 0.5
    scale: Range = (0.02, 0.33)
    """Share of the area that is erased."""
    ratio: Range = (0.3, 3.3)
    """Height divided by width of the erased rectangle."""
    value: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The colour in normalised floats; a picture in bytes gets the byte that is normalised to it."""

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise ValueError(f"probability: expected 0 to 1, got {self.probability}")
        if not 0 <= self.scale[0] <= self.scale[1] <= 1:
            raise ValueError(f"scale: expected (smallest, largest) within 0 and 1, got {self.scale}")
        if not 0 < self.ratio[0] <= self.ratio[1] < float("inf"):
            raise ValueError(f"ratio: expected (smallest, largest) above 0, got {self.ratio}")
        if len(self.value) != 3 or not all(np.isfinite(self.value)):
            raise ValueError(f"value: expected three numbers, got {self.value}")


@dataclass(frozen=True)
class Erased:
    """The drawn rectangle; empty if its height or width is 0."""

    top: int = 0
    left: int = 0
    height: int = 0
    width: int = 0


def _table(bins: int, strongest: tuple[float, float, float, float, float, int]) -> Table:
    shear, across, down, angle, colour, bits = strongest
    steps = np.arange(bins)
    table = np.zeros((NUM_CHOICES, bins))
    for op, most in ((Op.SHEAR_X, shear), (Op.SHEAR_Y, shear), (Op.ROTATE, angle)):
        table[op] = most * steps / (bins - 1)
    table[Op.TRANSLATE_X], table[Op.TRANSLATE_Y] = across * steps / (bins - 1), down * steps / (bins - 1)
    for op in (Op.BRIGHTNESS, Op.COLOR, Op.CONTRAST, Op.SHARPNESS):
        table[op] = colour * steps / (bins - 1)
    table[Op.POSTERIZE] = 8 - np.round(steps * bits / (bins - 1))
    table[Op.SOLARIZE] = 255.0 * steps[::-1] / (bins - 1)
    return table
