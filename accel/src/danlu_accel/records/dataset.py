"""IndexTFRDataset: packed images as a map-style data set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from danlu_accel.records import native
from danlu_accel.records.collate import BatchRow, empty_batch
from danlu_accel.records.engines import OK, to_native
from danlu_accel.records.errors import BadRecordFile, BrokenImage
from danlu_accel.records.index import Index, Name, index_shards, read_index
from danlu_accel.records.pillow_path import open_image, render
from danlu_accel.records.recipe import NotRecognised, Recipe, recognise
from danlu_accel.records.shards import MappedShards

Transform = Callable[[Any], Any]


def open_index(folder: Name, file: Name) -> Index:
    """Open a `.index`, or index the TFRecord shards that `file` names (a file, or a pattern such as train-*)."""
    path = Path(file)
    candidates = [path] if path.is_absolute() else [Path(folder) / path, path]
    for candidate in candidates:
        if candidate.suffix == ".index" and candidate.is_file():
            return read_index(candidate)
    shards = sorted(match for match in Path(folder).glob(path.name) if match.suffix not in (".idx", ".index"))
    if not shards:
        raise BadRecordFile(f"no index or shard {str(file)!r} in {str(folder)!r}; `danlu-records pack` makes one")
    return index_shards(shards)


class IndexTFRDataset:
    """Images and labels of a packed data set, by position: `dataset[i] -> (sample, label)`.

    `transform` may be any callable on a PIL image; without one the sample is the PIL image. A torchvision Compose of
    known transforms runs in the compiled core instead (`explain()` says whether it does), with the same probabilities
    and with random numbers from torch's generator. Works in DataLoader workers.
    """

    def __init__(
        self, tfrecord_dir: Name, tfrecord_file: Name, transform: Transform | None = None, *, verify: bool = True
    ) -> None:
        self.index = open_index(tfrecord_dir, tfrecord_file)
        self.shards = MappedShards(tfrecord_dir, self.index, verify=verify)
        self.transform = transform
        found = NotRecognised("no transform") if transform is None else recognise(transform)
        self._recipe = replace(found, channels_last=False) if isinstance(found, Recipe) else found
        self._native_recipe: Any = None

    def __len__(self) -> int:
        return len(self.index.entries)

    def __getitem__(self, position: int) -> tuple[Any, int]:
        entry = self.index.entries[position]
        label = int(entry["label"])
        if self.is_fast:
            out = empty_batch(1, self._checked_recipe())[0]
            self._fill(out, position)
            return out, label
        try:
            picture = open_image(self.shards.image(entry))
        except BrokenImage as error:
            raise BrokenImage(f"record {position}: {error}") from error
        return picture if self.transform is None else self.transform(picture), label

    @property
    def is_fast(self) -> bool:
        """Whether samples come from the compiled core."""
        return isinstance(self._recipe, Recipe) and native.core is not None

    @property
    def classes(self) -> tuple[str, ...]:
        return self.index.classes

    @property
    def targets(self) -> list[int]:
        return [int(label) for label in self.index.entries["label"]]

    def explain(self) -> str:
        """Say how samples are made, and why."""
        if isinstance(self._recipe, NotRecognised):
            return f"Pillow and Python: {self._recipe.reason}"
        if native.core is None:
            return f"Pillow and Python: {native.advice()}"
        return f"compiled core, one image at a time in the calling process: {self._recipe}"

    def __getitems__(self, positions: list[int]) -> list[tuple[Any, int]]:
        """What DataLoader calls for a whole batch: its images are made side by side in one piece of memory."""
        if not self.is_fast:
            return [self[position] for position in positions]
        batch = empty_batch(len(positions), self._checked_recipe())
        labels = [int(label) for label in self.index.entries["label"][positions]]
        for out, position in zip(batch, positions):
            self._fill(out, position)
        return [BatchRow((batch[row], label), batch, labels, row) for row, label in enumerate(labels)]

    def _fill(self, out: Any, position: int) -> None:
        import torch

        recipe = self._checked_recipe()
        image = self.shards.image(self.index.entries[position])
        key = int(torch.empty((), dtype=torch.int64).random_())
        assert native.core is not None
        status, _ = native.core.load(image, self._native_recipe, key, out.data_ptr(), out.nbytes)
        if status == OK:
            return
        try:
            pixels, _ = render(image, recipe, key)
        except BrokenImage as error:
            raise BrokenImage(f"record {position}: {error}") from error
        out.copy_(torch.from_numpy(pixels.copy()))

    def _checked_recipe(self) -> Recipe:
        assert isinstance(self._recipe, Recipe)
        if self._native_recipe is None:
            self._native_recipe = to_native(self._recipe)
        return self._recipe

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_native_recipe": None}
