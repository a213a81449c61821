"""Batches from the compiled core: threads without the GIL. Each reads, verifies, decodes and resizes whole images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from danlu_accel.records import native
from danlu_accel.records.buffers import BatchMemory, Pixels
from danlu_accel.records.engine import Engine, Made, Numbers, Ticket, Wanted, broken_record, empty_geometry
from danlu_accel.records.errors import BrokenImage
from danlu_accel.records.native import Status
from danlu_accel.records.open_files import OpenFile
from danlu_accel.records.pillow_path import render_into
from danlu_accel.records.recipe import Recipe
from danlu_accel.records.shards import ShardFiles

# What a thread needs to know about a record; the C++ counterpart is Item in native/pool.h.
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
    pool: Any = None

    def __init__(
        self, shards: ShardFiles, recipe: Recipe, memory: BatchMemory, *, threads: int, read_ahead: int, verify: bool
    ) -> None:
        assert native.core is not None
        self.shards = shards
        self.recipe = recipe
        self.memory = memory
        self.native_recipe = native.to_native(recipe)
        self.pool = native.core.Pool(threads, read_ahead)
        self._verify = verify

    def start(self, wanted: Wanted) -> Ticket:
        entries = wanted.entries
        items = np.empty(len(entries), ITEM)
        items["fd"], files = self.shards.descriptors(entries["shard"])
        items["key"] = wanted.keys
        for name in ("length", "offset", "image_at", "image_bytes"):
            items[name] = entries[name]
        out = self.memory.take(len(entries))
        status, geometry = np.zeros(len(entries), np.int32), empty_geometry(len(entries))
        number = self.pool.submit(self.native_recipe, items.view(np.uint8), out, status, geometry, self._verify)
        return NativeTicket(self, number, wanted, out, status, geometry, files)

    def statistics(self) -> dict[str, float]:
        return {} if self.pool is None else dict(self.pool.statistics())

    def close(self) -> None:
        self.pool = None  # joins the threads

    def __del__(self) -> None:
        self.close()  # before the shards are closed: threads may still read them


@dataclass(frozen=True)
class NativeTicket(Ticket):
    engine: NativeEngine
    number: int
    wanted: Wanted
    out: Pixels
    status: Numbers
    geometry: Numbers
    files: list[OpenFile]
    """Kept open while the threads read them."""

    def finish(self) -> Made:
        self.engine.pool.wait(self.number)
        left = np.flatnonzero(self.status).tolist()
        num_by_pillow = sum(self._make_again(position) for position in left)
        return Made(self.engine.memory.as_images(self.out), self.geometry, num_by_pillow)

    def abandon(self) -> None:
        pool = self.engine.pool
        if pool is not None:
            pool.cancel(self.number)
            pool.wait(self.number)

    def _make_again(self, position: int) -> bool:
        """Make an image that the threads did not make; return whether Pillow made it.

        The core leaves other image formats to Pillow. Raises for a damaged record, unless its shard was fetched again.
        """
        image = self.engine.shards.image(self.wanted.entries[position])
        out, key = self.out[position], int(self.wanted.keys[position])
        if self.status[position] in (Status.BAD_RECORD, Status.READ_FAILED):
            assert native.core is not None
            status, row = native.core.load(image, self.engine.native_recipe, key, out.ctypes.data, out.nbytes)
            if status == Status.OK:
                self.geometry[position] = row
                return False
        try:
            self.geometry[position] = render_into(out, image, self.engine.recipe, key).as_row()
        except BrokenImage as error:
            raise broken_record(int(self.wanted.records[position]), error) from error
        return True
