"""Batches from the compiled core: threads without the GIL, each reads, verifies, decodes and resizes whole images."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from danlu_accel.records import native
from danlu_accel.records.buffers import BatchMemory, Pixels
from danlu_accel.records.engine import Engine, Made, Numbers, Ticket, Wanted, broken_record, empty_geometry
from danlu_accel.records.errors import BadRecordFile, BrokenImage
from danlu_accel.records.pillow_path import render_into
from danlu_accel.records.recipe import Recipe
from danlu_accel.records.shards import MappedShards

# What a thread needs to know of one record; the C++ twin is Item in native/pool.h.
ITEM = np.dtype(
    [
        ("fd", "<i4"),
        ("length", "<u4"),
        ("offset", "<u8"),
        ("image_at", "<u4"),
        ("image_bytes", "<u4"),
        ("key", "<u8"),
    ]
)


class NativeEngine(Engine):
    def __init__(
        self, shards: MappedShards, recipe: Recipe, memory: BatchMemory, *, threads: int, read_ahead: int, verify: bool
    ) -> None:
        assert native.core is not None
        self.shards = shards
        self.recipe = recipe
        self.memory = memory
        self.pool: Any = native.core.Pool(threads, read_ahead)
        self._native_recipe = native.to_native(recipe)
        self._verify = verify
        self._fds: Numbers = np.full(shards.num_shards, -1, np.int32)

    def start(self, wanted: Wanted) -> Ticket:
        entries = wanted.entries
        items = np.empty(len(entries), ITEM)
        items["fd"] = self._open(entries["shard"])
        items["key"] = wanted.keys
        for name in ("length", "offset", "image_at", "image_bytes"):
            items[name] = entries[name]
        out = self.memory.take(len(entries))
        status, geometry = np.zeros(len(entries), np.int32), empty_geometry(len(entries))
        number = self.pool.submit(self._native_recipe, items.view(np.uint8), out, status, geometry, self._verify)
        return NativeTicket(self, number, wanted, out, status, geometry)

    def statistics(self) -> dict[str, float]:
        return {} if self.pool is None else dict(self.pool.statistics())

    def close(self) -> None:
        self.pool = None  # joins the threads
        for fd in self._fds[self._fds >= 0].tolist():
            os.close(fd)
        self._fds[:] = -1

    def _open(self, numbers: npt.NDArray[Any]) -> Numbers:
        found: Numbers = self._fds[numbers]
        if found.min(initial=0) >= 0:
            return found
        for number in np.unique(numbers[found < 0]).tolist():
            path = self.shards.path(number)
            try:
                self._fds[number] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                raise BadRecordFile(f"no shard {str(path)!r}: {error.strerror}; the index names it") from error
        opened: Numbers = self._fds[numbers]
        return opened


@dataclass(frozen=True)
class NativeTicket(Ticket):
    engine: NativeEngine
    number: int
    wanted: Wanted
    out: Pixels
    status: Numbers
    geometry: Numbers

    def finish(self) -> Made:
        self.engine.pool.wait(self.number)
        left = np.flatnonzero(self.status)
        for position in left.tolist():
            self._retry(position)
        return Made(self.engine.memory.as_images(self.out), self.geometry, len(left))

    def abandon(self) -> None:
        pool = self.engine.pool
        if pool is not None:
            pool.cancel(self.number)
            pool.wait(self.number)

    def _retry(self, position: int) -> None:
        """Do in Python what the core did not: another image format, or an error that deserves a good message."""
        image = self.engine.shards.image(self.wanted.entries[position])  # a damaged record raises here
        try:
            drawn = render_into(self.out[position], image, self.engine.recipe, int(self.wanted.keys[position]))
        except BrokenImage as error:
            raise broken_record(int(self.wanted.records[position]), error) from error
        self.geometry[position] = drawn.as_row()
