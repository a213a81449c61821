"""RecordLoader on unchanged files (`raw`) and on losslessly rewritten ones (`rst`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from _torchvision import training_transform

from danlu_accel.records import LoaderOptions, RecordLoader, training_recipe


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    return _pipeline(data / "rst")


def open_raw(data: Path) -> Callable[[], Iterator[int]]:
    return _pipeline(data / "raw")


def open_bytes(data: Path) -> Callable[[], Iterator[int]]:
    """uint8, to be normalised on the device."""
    return _pipeline(data / "rst", replace(training_recipe(), as_bytes=True))


def open_own_transform(data: Path) -> Callable[[], Iterator[int]]:
    """An unrecognised callable: torchvision's transforms on PIL images."""
    transform = training_transform()

    def own(picture: Any) -> Any:
        return transform(picture)

    return _pipeline(data / "rst", own)


def _pipeline(folder: Path, transform: Any = None) -> Callable[[], Iterator[int]]:
    loader = RecordLoader(folder, "train.index", transform, batch_size=64, options=LoaderOptions(threads=2))

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)

    return epoch


def open_slow(data: Path) -> Callable[[], Iterator[int]]:
    """Opens the shards again in each epoch, so that nothing of the previous epoch is cached."""
    loader = RecordLoader(data / "rst", "train.index", batch_size=64, options=LoaderOptions(threads=2))

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)
        loader.close()

    return epoch
