"""IndexTFRDataset: packed images as a map-style data set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from danlu_accel.records import native
from danlu_accel.records.boxes import objects_in, objects_of
from danlu_accel.records.collate import BatchRow, empty_batch
from danlu_accel.records.draws import Geometry
from danlu_accel.records.errors import BadRecordFile, BrokenImage, UnknownTransform
from danlu_accel.records.example import decode_example
from danlu_accel.records.files import Name
from danlu_accel.records.index import Index, index_shards, read_index
from danlu_accel.records.lazy_picture import open_lazily
from danlu_accel.records.native import Status
from danlu_accel.records.pillow_path import open_image, render
from danlu_accel.records.recipe import NotRecognised, Recipe, recognise
from danlu_accel.records.shards import ShardFiles
from danlu_accel.records.storage import storage_for

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


def require_known(plan: Recipe | NotRecognised, index: Index) -> None:
    """Reject a transform that is not recognised if there are boxes: they would no longer match the image."""
    if index.kind != "coco":
        return
    if isinstance(plan, Recipe):
        if plan.moves_pixels:
            raise UnknownTransform(
                "this data set has boxes, which do not follow RandAugment and TrivialAugment: they shear, shift and "
                "rotate what is framed; expected a Recipe without them (ColorJitter and Erasing may stay)"
            )
        return
    raise UnknownTransform(
        f"this data set has boxes, which have to follow the transform: expected a Recipe or a Compose of known "
        f"transforms, got one where {plan.reason}; for a transform of your own, wrap IndexTFRDataset without a "
        "transform, which gives PIL images and their boxes"
    )


class IndexTFRDataset:
    """Images and labels of a packed data set, by position: `dataset[i] -> (sample, label)`.

    Data packed from COCO gives (sample, Objects), with boxes in pixels of the sample.

    `transform` is any callable on a PIL image; without one the sample is the PIL image. A torchvision Compose of
    known transforms runs in the compiled core instead, with the same probabilities and with random numbers from
    torch's generator; `explain()` says whether it does. Works in DataLoader workers.
    """

    def __init__(
        self,
        tfrecord_dir: Name,
        tfrecord_file: Name,
        transform: Transform | None = None,
        *,
        verify: bool = True,
        cache_dir: Name | None = None,
        cache_bytes: int | None = None,
    ) -> None:
        """`tfrecord_dir` may be s3://bucket/prefix or http(s)://...

        A shard is then fetched as a whole on first use and kept in `cache_dir`.
        """
        storage = storage_for(tfrecord_dir, cache_dir, cache_bytes)
        folder = storage.prepare(tfrecord_file)
        self.index = open_index(folder, Path(str(tfrecord_file)).name if storage.is_remote else tfrecord_file)
        self.shards = ShardFiles(folder, self.index, verify=verify, fetch_again=storage.fetch_again)
        storage.use(self.index.shards, self.shards.files.forget)
        self.transform = transform
        found = NotRecognised("no transform") if transform is None else recognise(transform)
        if transform is not None:
            require_known(found, self.index)
        self._recipe = replace(found, channels_last=False) if isinstance(found, Recipe) else found
        self._native_recipe: Any = None

    def __len__(self) -> int:
        return len(self.index.entries)

    def __getitem__(self, position: int) -> tuple[Any, Any]:
        if isinstance(self._recipe, Recipe):
            out = empty_batch(1, self._recipe)[0]
            return out, self._fill(out, position, self._recipe)
        try:
            opener = open_image if self.transform is None else open_lazily
            picture = opener(self.shards.image(self.index.entries[position]))
            sample = picture if self.transform is None else self.transform(picture)
        except BrokenImage as error:
            raise BrokenImage(f"record {position}: {error}") from error
        if self.index.kind == "coco":
            record = self.shards.record(self.index.entries[position])
            return sample, objects_of(decode_example(record), picture.width, picture.height)
        return sample, int(self.index.entries[position]["label"])

    def __getitems__(self, positions: list[int]) -> list[tuple[Any, Any]]:
        """Called by DataLoader for a whole batch: makes its images in one tensor."""
        if not isinstance(self._recipe, Recipe):
            return [self[position] for position in positions]
        batch = empty_batch(len(positions), self._recipe)
        targets = [self._fill(out, position, self._recipe) for out, position in zip(batch, positions)]
        return [BatchRow(batch, targets, row) for row in range(len(positions))]

    @property
    def is_fast(self) -> bool:
        """Whether samples are made by the compiled core."""
        return isinstance(self._recipe, Recipe) and native.core is not None

    @property
    def classes(self) -> tuple[str, ...]:
        return self.index.classes

    @property
    def targets(self) -> list[int]:
        """The class of every image."""
        if self.index.kind == "coco":
            raise AttributeError("data packed from COCO has boxes, and no class per image: dataset[i] gives Objects")
        return [int(label) for label in self.index.entries["label"]]

    def explain(self) -> str:
        """Say how samples are made, and why."""
        if isinstance(self._recipe, NotRecognised):
            return f"Pillow and Python: {self._recipe.reason}"
        if native.core is None:
            return f"Pillow and Python: {native.advice()}"
        return f"compiled core, one image at a time in the calling process: {self._recipe}"

    def _fill(self, out: Any, position: int, recipe: Recipe) -> Any:
        """Write one image to `out`; return its label or its Objects."""
        import torch

        entry = self.index.entries[position]
        image = self.shards.image(entry)
        key = int(torch.empty((), dtype=torch.int64).random_())
        geometry = self._load(out, image, key, recipe)
        if geometry is None:
            try:
                pixels, geometry = render(image, recipe, key)
            except BrokenImage as error:
                raise BrokenImage(f"record {position}: {error}") from error
            out.copy_(torch.from_numpy(pixels.copy()))
        if self.index.kind == "coco":
            return objects_in(self.shards.record(entry), geometry, recipe)
        return int(entry["label"])

    def _load(self, out: Any, image: memoryview, key: int, recipe: Recipe) -> Geometry | None:
        """Make the image in the compiled core; None if there is no core, or if it leaves this image to Pillow."""
        if native.core is None:
            return None
        if self._native_recipe is None:
            self._native_recipe = native.to_native(recipe)
        status, row = native.core.load(image, self._native_recipe, key, out.data_ptr(), out.nbytes)
        return Geometry(*row) if status == Status.OK else None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_native_recipe": None}
