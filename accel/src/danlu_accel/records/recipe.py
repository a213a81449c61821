"""A Recipe describes what the fast path does to an image; a Compose of known transforms is translated into one.

Only torchvision's own classes are recognised, not subclasses, so no code of a user is replaced silently. torchvision
is never imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from danlu_accel.records.augment import Choosing, ColorJitter, Erasing, RandAugment, TrivialAugment

if TYPE_CHECKING:
    import torch


class Crop(Enum):
    """Which part of the image is used."""

    WHOLE = 0
    RANDOM_RESIZED = 1
    CENTER = 2


@dataclass(frozen=True)
class Recipe:
    """Crop, resize (antialiased bilinear, like Pillow), mirror, augment, normalise (or keep bytes), erase."""

    crop: Crop = Crop.RANDOM_RESIZED
    height: int = 224
    width: int = 224
    scale: tuple[float, float] = (0.08, 1.0)
    """Share of the image's area that a random crop covers."""
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    """Width divided by height of a random crop."""
    short_side: int = 256
    """Crop.CENTER: the shorter side is resized to this before the center is cropped."""
    flip_probability: float = 0.0
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    as_bytes: bool = False
    """Return uint8 as decoded instead of float32 of (value / 255 - mean) / std; `normalised` does that later."""
    channels_last: bool = False
    """Memory layout of the batch; its shape is N, C, H, W either way."""
    augment: tuple[RandAugment | TrivialAugment | ColorJitter, ...] = ()
    """Operations on the pixels, in this order, after the crop was resized and mirrored."""
    erasing: Erasing | None = None
    """A rectangle of the finished image that is filled with one colour."""

    def __post_init__(self) -> None:
        if not (1 <= self.height <= 16384 and 1 <= self.width <= 16384):
            raise ValueError(f"an output of {self.width}x{self.height} pixels; a side may have 1 to 16384")
        if self.crop is Crop.CENTER and self.short_side < max(self.height, self.width):
            raise ValueError(
                f"short_side {self.short_side} is smaller than the crop; make it {max(self.height, self.width)}"
            )
        if not (0 <= self.scale[0] <= self.scale[1] and 0 < self.ratio[0] <= self.ratio[1]):
            raise ValueError(f"scale {self.scale} and ratio {self.ratio} must be (smallest, largest)")
        if any(value <= 0 for value in self.std):
            raise ValueError(f"std {self.std} must be above zero")
        for step in self.augment:
            if not isinstance(step, (RandAugment, TrivialAugment, ColorJitter)):
                raise ValueError(f"augment: expected RandAugment, TrivialAugment or ColorJitter, got {step!r}")

    @property
    def moves_pixels(self) -> bool:
        """Whether pixels may be sheared, shifted or rotated after the crop. Boxes cannot follow that."""
        return any(isinstance(step, Choosing) and step.num_ops > 0 for step in self.augment)

    @property
    def erased_value(self) -> tuple[float, float, float]:
        """The value written where the image is erased: the colour, or the bytes that are normalised to it."""
        assert self.erasing is not None
        if not self.as_bytes:
            return self.erasing.value
        levels = [(v * s + m) * 255 for v, m, s in zip(self.erasing.value, self.mean, self.std)]
        return _three([min(max(round(level), 0), 255) for level in levels])

    def normalised(self, images: torch.Tensor) -> torch.Tensor:
        """Return a batch of bytes as float32, on its own device: (value / 255 - mean) / std.

        With `as_bytes` a quarter of the bytes is copied to the device. Float images are returned unchanged.
        """
        import torch

        if images.dtype != torch.uint8:
            return images
        scale = torch.tensor([1 / (255 * value) for value in self.std], device=images.device).reshape(1, 3, 1, 1)
        shift = torch.tensor([m / s for m, s in zip(self.mean, self.std)], device=images.device).reshape(1, 3, 1, 1)
        return images * scale - shift


@dataclass(frozen=True)
class NotRecognised:
    """Why a transform has to run in Python."""

    reason: str


IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


def training_recipe(
    size: int = 224, *, mean: Sequence[float] = IMAGENET_MEAN, std: Sequence[float] = IMAGENET_STD
) -> Recipe:
    """RandomResizedCrop + RandomHorizontalFlip + ToTensor + Normalize."""
    return Recipe(height=size, width=size, flip_probability=0.5, mean=_three(mean), std=_three(std))


def evaluation_recipe(
    size: int = 224,
    short_side: int = 256,
    *,
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
) -> Recipe:
    """Resize + CenterCrop + ToTensor + Normalize."""
    return Recipe(Crop.CENTER, size, size, short_side=short_side, mean=_three(mean), std=_three(std))


def recognise(transform: Any) -> Recipe | NotRecognised:
    """Translate a torchvision Compose into a Recipe, or return the reason why it cannot be."""
    if isinstance(transform, Recipe):
        return transform
    if _torchvision_name(transform) != "Compose":
        return NotRecognised(f"{_shown(transform)} is no torchvision Compose")
    state = _Translation()
    for step in transform.transforms:
        problem = state.add(step)
        if problem:
            return NotRecognised(problem)
    return state.finish()


class _Translation:
    """Reads the steps in order: geometry, pixels, to tensor, normalise, erase. Flips come before pixel operations."""

    def __init__(self) -> None:
        self._recipe: Recipe | None = None
        self._short_side: int | None = None
        self._flip = 0.0
        self._is_tensor = False
        self._is_float = False
        self._mean: tuple[float, float, float] | None = None
        self._std: tuple[float, float, float] = (1.0, 1.0, 1.0)
        self._augment: list[RandAugment | TrivialAugment | ColorJitter] = []
        self._erasing: Erasing | None = None

    def add(self, step: Any) -> str:
        name = _torchvision_name(step)
        if name in ("RandomResizedCrop", "Resize", "CenterCrop") and self._is_tensor:
            return f"{name} comes after the conversion to a tensor, where it rounds differently"
        method = getattr(self, f"_add_{name.lower()}", None) if name else None
        if method is None:
            return f"{_shown(step)} is not one of the known transforms"
        return str(method(step))

    def finish(self) -> Recipe | NotRecognised:
        if self._short_side is not None and self._recipe is None:
            return NotRecognised("Resize to a short side alone gives images of different shapes")
        if self._recipe is None:
            return NotRecognised("no crop or resize: images of different shapes make no batch")
        if not self._is_tensor:
            return NotRecognised("no ToTensor: the result would be a PIL image")
        if not self._is_float and self._mean is not None:
            return NotRecognised("Normalize on whole numbers")
        recipe = replace(self._recipe, flip_probability=self._flip, as_bytes=not self._is_float)
        recipe = replace(recipe, augment=tuple(self._augment), erasing=self._erasing)
        return replace(recipe, mean=self._mean, std=self._std) if self._mean is not None else recipe

    def _add_randomresizedcrop(self, step: Any) -> str:
        if self._recipe is not None or self._short_side is not None:
            return "RandomResizedCrop after another crop or resize"
        if not _is_bilinear(step):
            return f"RandomResizedCrop with {step.interpolation}; only bilinear is known"
        height, width = _pair(step.size)
        scale, ratio = tuple(map(float, step.scale)), tuple(map(float, step.ratio))
        try:
            self._recipe = Recipe(
                Crop.RANDOM_RESIZED, height, width, scale=(scale[0], scale[1]), ratio=(ratio[0], ratio[1])
            )
        except ValueError as error:
            return str(error)
        return ""

    def _add_resize(self, step: Any) -> str:
        if self._recipe is not None or self._short_side is not None:
            return "Resize after another crop or resize"
        if not _is_bilinear(step) or getattr(step, "max_size", None) is not None:
            return "Resize with another interpolation than bilinear, or with max_size"
        sides = [int(side) for side in step.size] if isinstance(step.size, (list, tuple)) else [int(step.size)]
        if len(sides) == 2:
            self._recipe = Recipe(Crop.WHOLE, sides[0], sides[1])
        else:
            self._short_side = sides[0]
        return ""

    def _add_centercrop(self, step: Any) -> str:
        if self._short_side is None or self._recipe is not None:
            return "CenterCrop without a Resize to a short side before it"
        height, width = _pair(step.size)
        if self._short_side < max(height, width):
            return "CenterCrop larger than the resized image, which would be padded"
        self._recipe = Recipe(Crop.CENTER, height, width, short_side=self._short_side)
        return ""

    def _add_randomhorizontalflip(self, step: Any) -> str:
        if self._flip:
            return "two flips"
        if any(isinstance(each, Choosing) for each in self._augment):
            return "RandomHorizontalFlip after pixels were moved"
        self._flip = float(step.p)
        return ""

    def _add_colorjitter(self, step: Any) -> str:
        ranges = (step.brightness, step.contrast, step.saturation, step.hue)
        return self._add_augment(step, lambda: ColorJitter(*(found and _range(found) for found in ranges)))

    def _add_randaugment(self, step: Any) -> str:
        numbers = int(step.num_ops), int(step.magnitude), int(step.num_magnitude_bins)
        return self._add_augment(step, lambda: RandAugment(*numbers, _fill(step.fill), _is_bilinear(step)))

    def _add_trivialaugmentwide(self, step: Any) -> str:
        bins = int(step.num_magnitude_bins)
        return self._add_augment(step, lambda: TrivialAugment(bins, _fill(step.fill), _is_bilinear(step)))

    def _add_augment(self, step: Any, make: Callable[[], RandAugment | TrivialAugment | ColorJitter]) -> str:
        name = type(step).__name__
        if self._is_tensor:
            return f"{name} comes after the conversion to a tensor, where it rounds differently"
        if self._recipe is None:
            return f"{name} before the crop or resize"
        if name != "ColorJitter" and _interpolation(step) not in ("nearest", "bilinear"):
            return f"{name} with {step.interpolation}; only nearest and bilinear are known"
        try:
            self._augment.append(make())
        except ValueError as error:
            return str(error)
        return ""

    def _add_randomerasing(self, step: Any) -> str:
        if not self._is_tensor or self._erasing is not None:
            return "RandomErasing twice, or before the conversion to a tensor"
        if step.value is None or isinstance(step.value, str):
            return "RandomErasing with random values"
        values = list(step.value) if isinstance(step.value, (list, tuple)) else [step.value]
        if len(values) not in (1, 3):
            return "RandomErasing that is not for three channels"
        value = _three([float(each) for each in (values if len(values) == 3 else values * 3)])
        if not self._is_float:
            if not all(0 <= each <= 255 for each in value):
                return "RandomErasing of bytes with a value that is no byte"
            value = _three([int(each) / 255 for each in value])
        try:
            self._erasing = Erasing(float(step.p), _range(step.scale), _range(step.ratio), value)
        except ValueError as error:
            return str(error)
        return ""

    def _add_totensor(self, _: Any) -> str:
        self._is_tensor = self._is_float = True
        return ""

    def _add_piltotensor(self, _: Any) -> str:
        self._is_tensor = True
        return ""

    _add_toimage = _add_piltotensor

    def _add_convertimagedtype(self, step: Any) -> str:
        if not self._is_tensor or str(getattr(step, "dtype", "")) != "torch.float32":
            return f"{_shown(step)}: only from uint8 to float32 is known"
        if self._erasing is not None:
            return "RandomErasing before the conversion to float"
        self._is_float = True
        return ""

    def _add_todtype(self, step: Any) -> str:
        if not getattr(step, "scale", False):
            return "ToDtype without scale=True"
        return self._add_convertimagedtype(step)

    def _add_normalize(self, step: Any) -> str:
        if self._mean is not None or not self._is_float:
            return "Normalize twice, or before the conversion to float"
        mean, std = list(step.mean), list(step.std)
        if len(mean) != 3 or len(std) != 3 or any(float(value) <= 0 for value in std):
            return "Normalize that is not for three channels"
        self._mean, self._std = _three(mean), _three(std)
        if self._erasing is not None:  # erased pixels are normalised too
            erased = [(v - m) / s for v, m, s in zip(self._erasing.value, self._mean, self._std)]
            self._erasing = replace(self._erasing, value=_three(erased))
        return ""


def _torchvision_name(step: Any) -> str:
    kind = type(step)
    return kind.__name__ if kind.__module__.startswith("torchvision.transforms") else ""


def _is_bilinear(step: Any) -> bool:
    return _interpolation(step) == "bilinear"


def _interpolation(step: Any) -> str:
    # An enum with value "bilinear", its value, or Pillow's number for it in old versions.
    found = getattr(step.interpolation, "value", step.interpolation)
    return {0: "nearest", 2: "bilinear"}.get(found, str(found))


def _fill(fill: Any) -> tuple[int, int, int]:
    """Return torchvision's fill colour for Pillow: black, one level for all channels, or one per channel."""
    levels = list(fill) if isinstance(fill, (list, tuple)) else [0 if fill is None else fill]
    if len(levels) not in (1, 3) or not all(isinstance(level, (int, float)) for level in levels):
        raise ValueError(f"fill: expected one level or three, got {fill}")
    first, second, third = (int(level) for level in (levels if len(levels) == 3 else levels * 3))
    return first, second, third


def _range(found: Sequence[float]) -> tuple[float, float]:
    smallest, largest = (float(value) for value in found)
    return smallest, largest


def _pair(size: Any) -> tuple[int, int]:
    if isinstance(size, (list, tuple)):
        return int(size[0]), int(size[-1])
    return int(size), int(size)


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    first, second, third = (float(value) for value in values)
    return first, second, third


def _shown(step: Any) -> str:
    return type(step).__qualname__ if not hasattr(step, "__qualname__") else str(step.__qualname__)
