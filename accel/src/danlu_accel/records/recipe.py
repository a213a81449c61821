"""A Recipe is what the fast path can do to an image; a Compose of known transforms is translated into one.

Transforms are recognised by the class they really are, torchvision's own and nothing derived from them, so that nothing
a user has changed is silently replaced. torchvision itself is never imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class Crop(Enum):
    """Which part of the image is used."""

    WHOLE = 0
    RANDOM_RESIZED = 1
    CENTER = 2


@dataclass(frozen=True)
class Recipe:
    """Crop, resize (antialiased bilinear, as Pillow does it), mirror, and normalise or leave as bytes."""

    crop: Crop = Crop.RANDOM_RESIZED
    height: int = 224
    width: int = 224
    scale: tuple[float, float] = (0.08, 1.0)
    """Share of the area that a random crop takes."""
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    """Width to height of a random crop."""
    short_side: int = 256
    """Crop.CENTER: the shorter side is brought to this before the middle is cut out."""
    flip_probability: float = 0.0
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    as_bytes: bool = False
    """Give uint8 as decoded instead of float32 of (value / 255 - mean) / std; `normalised` does that later."""
    channels_last: bool = False
    """Order of the batch in memory; its shape is N, C, H, W either way."""

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

    def normalised(self, images: torch.Tensor) -> torch.Tensor:
        """Return float32 images of a batch in bytes, on the device that it is on: (value / 255 - mean) / std.

        With `as_bytes` a batch has a quarter of the bytes on its way to the device. Float images come back as they are.
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
    """Translate a torchvision Compose into a Recipe, or say what stands in the way."""
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
    """Reads the steps one after another: geometry, then to tensor, then normalise; flips anywhere."""

    def __init__(self) -> None:
        self._recipe: Recipe | None = None
        self._short_side: int | None = None
        self._flip = 0.0
        self._is_tensor = False
        self._is_float = False
        self._mean: tuple[float, float, float] | None = None
        self._std: tuple[float, float, float] = (1.0, 1.0, 1.0)

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
        self._flip = float(step.p)
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
        return ""


def _torchvision_name(step: Any) -> str:
    kind = type(step)
    return kind.__name__ if kind.__module__.startswith("torchvision.transforms") else ""


def _is_bilinear(step: Any) -> bool:
    # An enum with value "bilinear", or Pillow's number for it in old versions.
    interpolation = getattr(step.interpolation, "value", step.interpolation)
    return interpolation in ("bilinear", 2)


def _pair(size: Any) -> tuple[int, int]:
    if isinstance(size, (list, tuple)):
        return int(size[0]), int(size[-1])
    return int(size), int(size)


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    first, second, third = (float(value) for value in values)
    return first, second, third


def _shown(step: Any) -> str:
    return type(step).__qualname__ if not hasattr(step, "__qualname__") else str(step.__qualname__)
