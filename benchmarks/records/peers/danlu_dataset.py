"""IndexTFRDataset in DataLoader workers, with a Compose that is recognised and with one that is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _torchvision import training_transform, training_transform_to_bytes
from native import batches_of

from danlu_accel.records import IndexTFRDataset


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    dataset = IndexTFRDataset(data / "rst", "train.index", training_transform())
    assert dataset.is_fast, dataset.explain()
    return batches_of(dataset)


def open_bytes(data: Path) -> Callable[[], Iterator[int]]:
    dataset = IndexTFRDataset(data / "rst", "train.index", training_transform_to_bytes())
    assert dataset.is_fast, dataset.explain()
    return batches_of(dataset)


class Opaque:
    """The same transform, wrapped so that it is not recognised."""

    def __init__(self) -> None:
        self._transform = training_transform()

    def __call__(self, image: Any) -> Any:
        return self._transform(image)


def open_pillow(data: Path) -> Callable[[], Iterator[int]]:
    dataset = IndexTFRDataset(data / "raw", "train.index", Opaque())
    assert not dataset.is_fast
    return batches_of(dataset)
