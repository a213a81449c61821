"""Who makes a batch: the compiled core's threads, or Pillow in Python threads. Both fill given memory."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from danlu_accel.records import native
from danlu_accel.records.draws import Geometry, Keys
from danlu_accel.records.errors import BadRecordFile, BrokenImage
from danlu_accel.records.index import Entries
from danlu_accel.records.pillow_path import open_image, render
from danlu_accel.records.recipe import Recipe
from danlu_accel.records.shards import MappedShards

OK, NOT_JPEG, UNSUPPORTED, BROKEN, BAD_RECORD, READ_FAILED = range(6)
NUM_GEOMETRY_FIELDS = len(fields(Geometry))
Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Wanted:
    """One batch to be made."""

    records: npt.NDArray[np.int64]
    entries: Entries
    keys: Keys
    out: npt.NDArray[Any]  # one contiguous image after another


@dataclass(frozen=True)
class Made:
    geometry: Numbers  # one row per image, the fields of Geometry
    num_by_pillow: int


class Engine(Protocol):
    def start(self, wanted: Wanted) -> Any:
        """Begin to make a batch and return a ticket at once."""

    def finish(self, ticket: Any) -> Made:
        """Wait until the batch is made. Raise BrokenImage or BadRecordFile naming the record if one cannot be."""

    def abandon(self, ticket: Any) -> None:
        """Let go of a batch nobody wants any more; its memory is free after this."""

    def statistics(self) -> dict[str, float]:
        """Seconds and counts since the start, summed over the threads."""

    def close(self) -> None:
        """Stop the threads. Idempotent."""


def to_native(recipe: Recipe) -> Any:
    """Return the recipe as the compiled core wants it."""
    assert native.core is not None
    return native.core.Recipe.make(
        recipe.crop.value,
        recipe.width,
        recipe.height,
        recipe.scale,
        recipe.ratio,
        recipe.short_side,
        recipe.flip_probability,
        not recipe.as_bytes,
        recipe.channels_last,
        recipe.mean,
        recipe.std,
    )


class NativeEngine:
    """The compiled core: threads without the GIL, each reads, verifies, decodes and resizes whole images."""

    def __init__(self, shards: MappedShards, recipe: Recipe, threads: int, read_ahead: int, verify: bool) -> None:
        assert native.core is not None
        self._shards = shards
        self._recipe = recipe
        self._native_recipe = to_native(recipe)
        self._verify = verify
        self._pool: Any = native.core.Pool(threads, read_ahead)
        self._fds: Numbers = np.full(shards.num_shards, -1, np.int32)

    def start(self, wanted: Wanted) -> Any:
        entries = wanted.entries
        count = len(entries)
        status = np.zeros(count, np.int32)
        geometry = np.zeros((count, NUM_GEOMETRY_FIELDS), np.int32)
        places = np.empty((count, 3), np.uint32)
        for column, name in enumerate(("length", "image_at", "image_bytes")):
            places[:, column] = entries[name]
        number = self._pool.submit(
            self._native_recipe,
            self._open(entries["shard"]),
            np.ascontiguousarray(entries["offset"], np.uint64),
            places,
            wanted.keys,
            wanted.out.__array_interface__["data"][0],  # `.ctypes` takes longer than all the rest of this
            wanted.out.nbytes,
            status,
            geometry,
            self._verify,
            (wanted.out, status, geometry),  # kept alive until the threads are done with them
        )
        return number, wanted, status, geometry

    def finish(self, ticket: Any) -> Made:
        batch_number, wanted, status, geometry = ticket
        self._pool.wait(batch_number)
        left = np.flatnonzero(status)
        for number in left:
            self._retry(wanted, int(number), int(status[number]), geometry)
        return Made(geometry, len(left))

    def abandon(self, ticket: Any) -> None:
        self._pool.cancel(ticket[0])
        self._pool.wait(ticket[0])

    def statistics(self) -> dict[str, float]:
        return {} if self._pool is None else dict(self._pool.statistics())

    def close(self) -> None:
        self._pool = None  # joins the threads
        for fd in self._fds[self._fds >= 0].tolist():
            os.close(fd)
        self._fds[:] = -1

    def _open(self, numbers: npt.NDArray[Any]) -> Numbers:
        found: Numbers = self._fds[numbers]
        if found.min(initial=0) >= 0:
            return found
        for number in np.unique(numbers[found < 0]).tolist():
            path = self._shards.path(number)
            try:
                self._fds[number] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                raise BadRecordFile(f"no shard {str(path)!r}: {error.strerror}; the index names it") from error
        opened: Numbers = self._fds[numbers]
        return opened

    def _retry(self, wanted: Wanted, number: int, status: int, geometry: Numbers) -> None:
        """Do in Python what the core did not: another image format, or an error that deserves a good message."""
        record, entry = int(wanted.records[number]), wanted.entries[number]
        if status in (BAD_RECORD, READ_FAILED):
            self._shards.image(entry)  # raises with the reason, unless the file has been repaired meanwhile
        _render_into(self._shards, wanted, number, self._recipe, geometry, record)


class PillowEngine:
    """Pillow in Python threads."""

    def __init__(self, shards: MappedShards, recipe: Recipe, threads: int) -> None:
        self._shards = shards
        self._recipe = recipe
        self._threads: ThreadPoolExecutor | None = ThreadPoolExecutor(threads, "danlu-records")

    def start(self, wanted: Wanted) -> Any:
        assert self._threads is not None
        geometry = np.zeros((len(wanted.entries), NUM_GEOMETRY_FIELDS), np.int32)
        work = [self._threads.submit(self._one, wanted, number, geometry) for number in range(len(wanted.entries))]
        return work, geometry

    def finish(self, ticket: Any) -> Made:
        work: list[Future[None]] = ticket[0]
        for future in work:
            future.result()
        return Made(ticket[1], len(work))

    def abandon(self, ticket: Any) -> None:
        _cancel_all(ticket[0])

    def statistics(self) -> dict[str, float]:
        return {}

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None

    def _one(self, wanted: Wanted, number: int, geometry: Numbers) -> None:
        _render_into(self._shards, wanted, number, self._recipe, geometry, int(wanted.records[number]))


class TransformEngine:
    """Any callable on PIL images, in Python threads. Its samples are stacked, so they must be tensors of one shape."""

    def __init__(self, shards: MappedShards, transform: Any, threads: int) -> None:
        self._shards = shards
        self._transform = transform
        self._threads: ThreadPoolExecutor | None = ThreadPoolExecutor(threads, "danlu-records")

    def start(self, wanted: Wanted) -> list[Future[Any]]:
        assert self._threads is not None
        return [
            self._threads.submit(self._one, wanted.entries[n], int(wanted.records[n]))
            for n in range(len(wanted.entries))
        ]

    def samples(self, ticket: list[Future[Any]]) -> list[Any]:
        return [future.result() for future in ticket]

    def abandon(self, ticket: list[Future[Any]]) -> None:
        _cancel_all(ticket)

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None

    def _one(self, entry: Entries, record: int) -> Any:
        try:
            return self._transform(open_image(self._shards.image(entry)))
        except BrokenImage as error:
            raise BrokenImage(f"record {record}: {error}") from error


def _cancel_all(futures: list[Future[Any]]) -> None:
    for future in futures:
        future.cancel()
    wait(futures)


def _render_into(
    shards: MappedShards, wanted: Wanted, number: int, recipe: Recipe, geometry: Numbers, record: int
) -> None:
    try:
        pixels, drawn = render(shards.image(wanted.entries[number]), recipe, int(wanted.keys[number]))
    except BrokenImage as error:
        raise BrokenImage(
            f"record {record}: {error}; pack again with on_broken=list to leave such images out"
        ) from error
    wanted.out[number] = pixels
    geometry[number] = [getattr(drawn, field.name) for field in fields(drawn)]
