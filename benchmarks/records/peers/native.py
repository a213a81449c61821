"""The measure of all: torchvision's ImageFolder, Pillow, DataLoader with two workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _torchvision import datasets, training_transform
from torch.utils.data import DataLoader


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    return batches_of(datasets.ImageFolder(str(data / "photos"), training_transform()))


def batches_of(dataset: Any) -> Callable[[], Iterator[int]]:
    loader = DataLoader(dataset, 64, shuffle=True, num_workers=2, persistent_workers=True)

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)

    return epoch
