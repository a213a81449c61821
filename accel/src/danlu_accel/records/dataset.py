"""IndexTFRDataset: packed images as a map-style data set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from danlu_accel.records import native
from danlu_accel.records.engines import to_native
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
        self._recipe = NotRecognised("no transform") if transform is None else recognise(transform)
        self._native_recipe: Any = None

    def __len__(self) -> int:
        return len(self.index.entries)

    def __getitem__(self, position: int) -> tuple[Any, int]:
        entry = self.index.entries[position]
        label = int(entry["label"])
        image = self.shards.image(entry)
        if self.is_fast:
            return self._fast_sample(image, position), label
        try:
            picture = open_image(image)
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

    def _fast_sample(self, image: memoryview, position: int) -> Any:
        import torch

        recipe = self._recipe
        assert isinstance(recipe, Recipe)
        if self._native_recipe is None:
            self._native_recipe = to_native(recipe)
        dtype = torch.uint8 if recipe.as_bytes else torch.float32
        out = torch.empty((3, recipe.height, recipe.width), dtype=dtype)
        key = int(torch.empty((), dtype=torch.int64).random_())
        assert native.core is not None
        status, _ = native.core.load(image, self._native_recipe, key, out.data_ptr(), out.nbytes)
        if status != 0:
            try:
                pixels, _ = render(image, recipe, key)
            except BrokenImage as error:
                raise BrokenImage(f"record {position}: {error}") from error
            out.copy_(torch.from_numpy(pixels))
        return out

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_native_recipe": None}
