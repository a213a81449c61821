"""The baseline: torchvision's ImageFolder, Pillow, DataLoader with two workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _torchvision import datasets, training_transform
from torch.utils.data import DataLoader

from danlu_accel.records.storage import NETWORK_READERS


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    return batches_of(datasets.ImageFolder(str(data / "photos"), training_transform()))


def open_slow(data: Path) -> Callable[[], Iterator[int]]:
    """Uses as many workers as RecordLoader has reader threads: workers that wait for storage use no CPU."""
    dataset = datasets.ImageFolder(str(data / "photos"), training_transform())
    return batches_of(dataset, num_workers=NETWORK_READERS)


def batches_of(dataset: Any, num_workers: int = 2) -> Callable[[], Iterator[int]]:
    loader = DataLoader(dataset, 64, shuffle=True, num_workers=num_workers, persistent_workers=True)

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)

    return epoch
