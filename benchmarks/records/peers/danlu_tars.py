"""SampleLoader on WebDataset tars, read in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import _tars

from danlu_accel.records import LoaderOptions, training_recipe
from danlu_accel.samples import SampleLoader, SampleRecipe, index_samples


def prepare(data: Path) -> None:
    _tars.prepare(data)
    folder = data / "webdataset"
    if not (folder / "train.samples").is_file():
        index_samples(folder.glob("*.tar"), folder / "train")


def open_pipeline(data: Path) -> Callable[[], Iterator[int]]:
    recipe = SampleRecipe(decoders={"jpg": training_recipe()})
    options = LoaderOptions(threads=2)
    loader = SampleLoader(data / "webdataset" / "train.samples", recipe, batch_size=64, options=options)

    def epoch() -> Iterator[int]:
        for batch in loader:
            yield len(batch["jpg"])

    return epoch
