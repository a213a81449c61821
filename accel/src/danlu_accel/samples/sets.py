"""An open data set of samples: tars and lines with an index, or packed images."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from danlu_accel.records.crc32c import crc32c
from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.files import Name
from danlu_accel.records.index import read_index
from danlu_accel.records.mixed_set import MixedSet, Numbers
from danlu_accel.records.open_files import OpenFile, OpenFiles
from danlu_accel.records.options import LoaderOptions
from danlu_accel.records.shards import ShardFiles
from danlu_accel.records.state import name_of_data
from danlu_accel.samples.index import Table, read_sample_index

MAX_GAP = 1 << 14
"""Fields at most this many bytes apart are read at once: reading a tar header costs less than another request."""


class RawSample(NamedTuple):
    shard: str
    """Name of the file that holds it."""
    key: str
    fields: dict[str, memoryview]


class SampleSet(MixedSet):
    fields: tuple[str, ...]
    """All fields that occur in it."""
    read_ahead: int
    """Number of separate reader threads for this storage."""

    @abstractmethod
    def raw(self, number: int, fields: Sequence[str] | None) -> RawSample:
        """Read a sample, or these fields of it. Raises BadRecordFile if it changed since it was indexed."""


def open_set(path: Name, options: LoaderOptions) -> SampleSet:
    """Open `<name>.samples`, or the `<name>.index` of packed images, whose fields are `jpg` and `cls`."""
    return ImageSet(path, options) if str(path).endswith(".index") else FieldSet(path, options)


class FieldSet(SampleSet):
    def __init__(self, path: Name, options: LoaderOptions) -> None:
        local = self._open_storage(path, options)
        self.index = read_sample_index(local)
        self.fields = self.index.fields
        self.shard_sizes = self.index.shard_sizes
        self.read_ahead = self._storage.read_ahead(local.parent)
        self._verify = options.verify
        self._number_of = {name: number for number, name in enumerate(self.fields)}
        self._files = OpenFiles(local.parent, self.index.shards, self._storage.fetch_again)
        self._storage.use(self.index.shards, self._files.forget)

    @property
    def name_of_data(self) -> str:
        return self.index.name_of_data

    @property
    def files(self) -> OpenFiles:
        return self._files

    def raw(self, number: int, fields: Sequence[str] | None) -> RawSample:
        begin, end = self.index.first_parts[number : number + 2].tolist()
        parts = self.index.parts[begin:end]
        if fields is not None:
            parts = self._chosen(parts, fields, number)
        shard = self.index.shard_of(number)
        found = self._files.use(shard, partial(self._read, parts=parts, number=number))
        return RawSample(self.index.shards[shard].name, self.index.key(number), found)

    def describe(self) -> str:
        shards = f"{len(self.index.shards)} shards {self._storage.describe()}"
        return f"{len(self)} samples of {', '.join(self.fields[:12])} in {shards}"

    def _chosen(self, parts: Table, fields: Sequence[str], number: int) -> Table:
        rows = {int(field): row for row, field in enumerate(parts["field"])}
        try:
            return parts[[rows[self._number_of[name]] for name in fields]]
        except KeyError:
            there = [self.fields[field] for field in parts["field"]]
            missing = [name for name in fields if name not in there]
            raise BadRecordFile(
                f"sample {self.index.key(number)!r}: expected the fields {', '.join(fields)}, it has no "
                f"{', '.join(missing)}, but {', '.join(there)}"
            ) from None

    def _read(self, file: OpenFile, *, parts: Table, number: int) -> dict[str, memoryview]:
        found: dict[str, memoryview] = {}
        rows = parts.tolist()
        for begin, end in _spans([(offset, offset + length) for offset, length, _, _ in rows]):
            raw = file.read(begin, end - begin)
            for offset, length, checksum, field in rows:
                if not begin <= offset <= offset + length <= end:
                    continue
                data = raw[offset - begin : offset - begin + length]
                if len(data) != length or (self._verify and crc32c(data) != checksum):
                    raise BadRecordFile(
                        f"{file.path.name}: {self.fields[field]!r} of the sample {self.index.key(number)!r}, {length} "
                        f"bytes at {offset}, fails its checksum; the file was cut or changed since it was indexed"
                    )
                found[self.fields[field]] = data
        return found


class ImageSet(SampleSet):
    """Packed images, as samples."""

    fields = ("jpg", "cls")

    def __init__(self, path: Name, options: LoaderOptions) -> None:
        local = self._open_storage(path, options)
        self.index = read_index(local)
        if self.index.kind == "coco":
            raise ValueError(f"source {str(path)!r}: expected images with classes, got boxes; RecordLoader reads those")
        self.shard_sizes = tuple(np.bincount(self.index.entries["shard"], minlength=len(self.index.shards)).tolist())
        self.read_ahead = self._storage.read_ahead(local.parent)
        fetch_again = self._storage.fetch_again
        self._shards = ShardFiles(local.parent, self.index, verify=options.verify, fetch_again=fetch_again)
        self._storage.use(self.index.shards, self.files.forget)

    @cached_property
    def name_of_data(self) -> str:
        return name_of_data(self.index)

    @property
    def files(self) -> OpenFiles:
        return self._shards.files

    def shards_of(self, numbers: Numbers) -> Numbers:
        found: Numbers = self.index.entries["shard"][numbers].astype(np.int64)
        return found

    def raw(self, number: int, fields: Sequence[str] | None) -> RawSample:
        entry = self.index.entries[number]
        unknown = set(fields or ()) - set(self.fields)
        if unknown:
            raise BadRecordFile(f"packed images: expected the fields jpg and cls, got {', '.join(sorted(unknown))}")
        found: dict[str, memoryview] = {}
        if fields is None or "jpg" in fields:
            found["jpg"] = self._shards.image(entry)
        if fields is None or "cls" in fields:
            found["cls"] = memoryview(str(int(entry["label"])).encode())
        return RawSample(self.index.shards[int(entry["shard"])].name, f"{number}", found)

    def describe(self) -> str:
        return f"{len(self)} packed images, {len(self.index.shards)} shards {self._storage.describe()}"


def _spans(places: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the ranges to read: places close to each other are joined."""
    begin = end = -1
    for first, last in sorted(places):
        if begin < 0:
            begin, end = first, last
        elif first <= end + MAX_GAP:
            end = max(end, last)
        else:
            yield begin, end
            begin, end = first, last
    if begin >= 0:
        yield begin, end
