"""MixUp and CutMix on the batches of a RecordLoader.

Neighbours in the order of an epoch are mixed: position 2k with position 2k + 1. What is drawn for a record is a
function of (seed, epoch, record). With an even batch size both are in the same batch for any number of ranks, so
training sees the same mixed images after a restart on other machines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from danlu_accel.records.draws import Draws, Keys, stream
from danlu_accel.records.errors import UnknownTransform
from danlu_accel.records.index import Index

if TYPE_CHECKING:
    import torch

MIXING_STREAM = 3


@dataclass(frozen=True)
class Mixing:
    """What is mixed, and how strongly: an alpha above 0 enables MixUp or CutMix; with both, each is used half the time.

    Labels become float32 shares of every class, as torchvision's MixUp and CutMix make them.
    """

    num_classes: int
    mixup_alpha: float = 0.0
    """The share of a record in its mixture is drawn from Beta(alpha, alpha)."""
    cutmix_alpha: float = 0.0
    probability: float = 1.0
    """Share of the records that are mixed."""

    def __post_init__(self) -> None:
        if self.num_classes < 1:
            raise ValueError(f"num_classes: expected at least 1, got {self.num_classes}")
        for name in ("mixup_alpha", "cutmix_alpha"):
            if not 0 <= getattr(self, name) <= 1e3:
                raise ValueError(f"{name}: expected 0 to 1000, got {getattr(self, name)}")
        if not self.mixup_alpha and not self.cutmix_alpha:
            raise ValueError("mixup_alpha, cutmix_alpha: expected at least one above 0, got 0 and 0")
        if not 0 <= self.probability <= 1:
            raise ValueError(f"probability: expected 0 to 1, got {self.probability}")


@dataclass(frozen=True)
class Mixture:
    """The mixture drawn for one record: the share that remains of it, and the box copied from its partner."""

    share: float = 1.0
    box: tuple[int, int, int, int] | None = None
    """Left, top, right, bottom; None: the whole image is blended."""


def require_classes(index: Index) -> None:
    """Reject a data set with boxes: in a mixed image they would no longer fit."""
    if index.kind == "coco":
        raise UnknownTransform("mixing: expected a data set with a class per image, got one with boxes")


def draw_mixture(mixing: Mixing, width: int, height: int, key: int) -> Mixture:
    """Draw how a record is mixed, with torchvision's rules."""
    draws = stream(key, MIXING_STREAM)
    if draws.uniform() >= mixing.probability:
        return Mixture()
    is_cut = draws.uniform() < 0.5 if mixing.mixup_alpha and mixing.cutmix_alpha else bool(mixing.cutmix_alpha)
    share = _beta(mixing.cutmix_alpha if is_cut else mixing.mixup_alpha, draws)
    if not is_cut:
        return Mixture(share)
    x, y, half = int(draws.uniform() * width), int(draws.uniform() * height), 0.5 * math.sqrt(1.0 - share)
    left, right = max(x - int(half * width), 0), min(x + int(half * width), width)
    top, bottom = max(y - int(half * height), 0), min(y + int(half * height), height)
    return Mixture(1.0 - (right - left) * (bottom - top) / (width * height), (left, top, right, bottom))


def partners(positions: npt.NDArray[np.int64]) -> list[int]:
    """Return the place of each record's partner in the batch; its own place if the partner is not in this batch."""
    places = {int(position): place for place, position in enumerate(positions)}
    return [places.get(int(position) ^ 1, place) for place, position in enumerate(positions)]


def mix(
    mixing: Mixing,
    images: torch.Tensor,
    labels: torch.Tensor,
    positions: npt.NDArray[np.int64],
    keys: Keys,
) -> torch.Tensor:
    """Mix a batch N, C, H, W in place; return its labels as shares of classes."""
    import torch

    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < mixing.num_classes:
        raise ValueError(
            f"num_classes: expected more than every label of the data, got {mixing.num_classes} beside {labels.max()}"
        )
    height, width = images.shape[-2:]
    mixtures = [draw_mixture(mixing, width, height, int(key)) for key in keys]
    shares = torch.zeros(len(labels), mixing.num_classes)
    for place, partner in enumerate(partners(positions)):
        own = mixtures[place].share if partner != place else 1.0
        shares[place, labels[place]] += own
        shares[place, labels[partner]] += 1.0 - own
        if partner > place:
            _mix_pair(images[place], images[partner], mixtures[place], mixtures[partner])
    return shares


def _mix_pair(first: torch.Tensor, second: torch.Tensor, into_first: Mixture, into_second: Mixture) -> None:
    new_first = _mixed(first, second, into_first)
    new_second = _mixed(second, first, into_second)
    for image, mixture, new in ((first, into_first, new_first), (second, into_second, new_second)):
        if new is not None:
            _part(image, mixture).copy_(new)


def _mixed(image: torch.Tensor, partner: torch.Tensor, mixture: Mixture) -> torch.Tensor | None:
    """Return the mixed image or part of it; None if it does not change."""
    import torch

    if mixture.share == 1.0:
        return None
    if mixture.box is not None:
        return _part(partner, mixture).clone()
    if image.dtype != torch.uint8:
        return torch.lerp(partner, image, mixture.share)
    return torch.lerp(partner.float(), image.float(), mixture.share).round_().to(torch.uint8)


def _part(image: torch.Tensor, mixture: Mixture) -> torch.Tensor:
    if mixture.box is None:
        return image
    left, top, right, bottom = mixture.box
    return image[..., top:bottom, left:right]


def _beta(alpha: float, draws: Draws) -> float:
    one, other = _gamma(alpha, draws), _gamma(alpha, draws)
    if one + other == 0:  # a tiny alpha: one of the two gets everything
        return float(draws.uniform() < 0.5)
    return one / (one + other)


def _gamma(shape: float, draws: Draws) -> float:
    """Marsaglia and Tsang's method."""
    if shape < 1:
        return float(_gamma(shape + 1, draws) * (1 - draws.uniform()) ** (1 / shape))
    d = shape - 1 / 3
    while True:
        x = math.sqrt(-2 * math.log(1 - draws.uniform())) * math.cos(2 * math.pi * draws.uniform())
        v = (1 + x / math.sqrt(9 * d)) ** 3
        if v > 0 and math.log(1 - draws.uniform()) < x * x / 2 + d - d * v + d * math.log(v):
            return d * v
