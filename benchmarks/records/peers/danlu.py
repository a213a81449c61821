"""RecordLoader on files as they are (`raw`) and on losslessly rewritten ones (`rst`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from danlu_accel.records import LoaderOptions, RecordLoader


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    return _pipeline(data / "rst")


def open_raw(data: Path) -> Callable[[], Iterator[int]]:
    return _pipeline(data / "raw")


def _pipeline(folder: Path) -> Callable[[], Iterator[int]]:
    loader = RecordLoader(folder, "train.index", batch_size=64, options=LoaderOptions(threads=2))

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)

    return epoch


def open_slow(data: Path) -> Callable[[], Iterator[int]]:
    """Shards are opened anew each epoch, so that nothing of the epoch before is cached."""
    loader = RecordLoader(data / "rst", "train.index", batch_size=64, options=LoaderOptions(threads=2))

    def epoch() -> Iterator[int]:
        for images, _ in loader:
            yield len(images)
        loader.close()

    return epoch
