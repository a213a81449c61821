"""RecordLoader: batches for training, straight from shards."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from danlu_accel.records import native
from danlu_accel.records.boxes import follow, objects_of
from danlu_accel.records.buffers import Shelf
from danlu_accel.records.dataset import open_index
from danlu_accel.records.draws import Geometry, keys_of
from danlu_accel.records.engines import Engine, Made, NativeEngine, PillowEngine, TransformEngine, Wanted
from danlu_accel.records.example import decode_example
from danlu_accel.records.index import Name
from danlu_accel.records.order import Order, Positions, Step, next_step
from danlu_accel.records.recipe import NotRecognised, Recipe, recognise, training_recipe
from danlu_accel.records.shards import MappedShards
from danlu_accel.records.storage import storage_for

STATE_VERSION = 1
STEPS_AT_A_TIME = 16


@dataclass(frozen=True)
class LoaderStatistics:
    """What happened since the loader was made. Seconds of work are summed over threads."""

    batches: int
    images: int
    images_by_pillow: int
    """Made in Python because the compiled core does not do them."""
    waited_seconds: float
    """How long the training loop stood waiting for batches."""
    buffers: int
    core: dict[str, float]
    """Counts and seconds of the compiled core: read, verify, decode, idle."""


class RecordLoader:
    """Iterate over (images, labels) batches; over (images, list of Objects) for data packed from COCO.

    The order is a function of (seed, epoch, position) alone: any number of threads gives the same batches, an epoch can
    be resumed in the middle with `state_dict`, also with another number of ranks, and `set_epoch` chooses the shuffle.
    A finished epoch moves on to the next one by itself.
    """

    def __init__(  # noqa: PLR0913
        self,
        tfrecord_dir: Name,
        tfrecord_file: Name,
        transform: Any = None,
        *,
        batch_size: int = 64,
        shuffle: bool = True,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        drop_last: bool = False,
        threads: int | None = None,
        prefetch: int = 2,
        read_ahead: int | None = None,
        channels_last: bool = False,
        pin_memory: bool | None = None,
        verify: bool = True,
        window_shards: int | None = None,
        cache_dir: Name | None = None,
    ) -> None:
        """`transform`: a Recipe, a torchvision Compose, any callable on PIL images, or None for training_recipe().

        `read_ahead`: threads that only read; None chooses by the kind of file system. `window_shards`: see Order; None
        shuffles over everything, except for shards that come over the network. `tfrecord_dir` may be s3://bucket/prefix
        or http(s)://...; shards are then kept in `cache_dir`.
        """
        if batch_size < 1 or prefetch < 1 or not 0 <= rank < world_size:
            raise ValueError(f"batch_size {batch_size}, prefetch {prefetch}, rank {rank} of {world_size}: out of range")
        self._storage = storage_for(tfrecord_dir, cache_dir)
        folder = self._storage.prepare(tfrecord_file)
        self.index = open_index(folder, Path(str(tfrecord_file)).name if self._storage.is_remote else tfrecord_file)
        self._storage.use(self.index)
        self._shards = MappedShards(folder, self.index, verify=verify)
        self._plan = _plan(transform, channels_last)
        self._transform = transform
        self.batch_size = batch_size
        self._shuffle, self._seed, self._drop_last = shuffle, seed, drop_last
        self._rank, self._world_size = rank, world_size
        self._threads = threads or _num_cores()
        self._prefetch = prefetch
        self._read_ahead = self._storage.read_ahead(folder) if read_ahead is None else read_ahead
        self._window_shards = (4 if self._storage.is_remote else 0) if window_shards is None else window_shards
        self._pinned = _has_cuda() if pin_memory is None else pin_memory
        self._verify = verify
        self._epoch, self._position = 0, 0
        self._engine: Engine | TransformEngine | None = None
        self._engine_pid = 0
        self._shelf: Shelf | None = None
        self._num_batches = self._num_images = self._num_by_pillow = 0
        self._waited_seconds = 0.0

    def __len__(self) -> int:
        """Batches of a whole epoch."""
        whole = self.batch_size * self._world_size
        count = len(self.index.entries)
        return count // whole if self._drop_last else -(-count // whole)

    def set_epoch(self, epoch: int) -> None:
        """Go to the beginning of an epoch, unless that is where we are."""
        if epoch != self._epoch:
            self._epoch, self._position = epoch, 0

    def state_dict(self) -> dict[str, int]:
        """Where training stands: batches handed out count, batches made ahead do not."""
        return {"version": STATE_VERSION, "seed": self._seed, "epoch": self._epoch, "position": self._position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        if state.get("version") != STATE_VERSION:
            raise ValueError(
                f"a loader state of version {state.get('version')}; this danlu-accel knows {STATE_VERSION}"
            )
        if not 0 <= state["position"] <= len(self.index.entries):
            raise ValueError(
                f"position {state['position']} is outside this data set of {len(self.index.entries)} records"
            )
        self._seed, self._epoch, self._position = state["seed"], state["epoch"], state["position"]

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        order = self._order()
        self._storage.follow(order, self._position)
        steps = self._steps(order)
        ahead: deque[tuple[Step, Wanted, Any]] = deque()
        try:
            while True:
                self._fill(ahead, order, steps)
                if not ahead:
                    break
                step, wanted, ticket = ahead.popleft()
                batch = self._finish(wanted, ticket)
                del wanted, ticket
                self._position = step.position_after
                self._fill(ahead, order, steps)  # the threads go on while the training loop works
                yield batch
                del batch  # else its buffer could not be used again
        finally:  # the training loop may stop in the middle, while threads still fill what was started
            for _, _, ticket in ahead:
                self._ready_engine().abandon(ticket)
        self._epoch, self._position = order.epoch + 1, 0

    def explain(self) -> str:
        """Say in a few lines how batches are made and why."""
        plan = self._plan
        if isinstance(plan, NotRecognised):
            how = f"Python transform in {self._threads} threads, limited by the GIL: {plan.reason}"
            how += "; DataLoader workers with IndexTFRDataset may be faster"
        elif native.core is None:
            how = f"Pillow in {self._threads} Python threads: {native.advice()}"
        else:
            how = f"{native.advice()}; {self._threads} threads, {self._read_ahead or 'no'} read-ahead threads; {plan}"
        shuffle = "no shuffle" if not self._shuffle else "global shuffle"
        if self._shuffle and self._window_shards:
            shuffle = f"shuffle within {self._window_shards} shards"
        data = f"{len(self.index.entries)} images in {len(self.index.shards)} shards, {self._storage.describe()}"
        segments = "with" if self.index.made_with.get("restart_markers") else "without"
        checks = "checksums verified" if self._verify else "checksums NOT verified"
        share = f"rank {self._rank} of {self._world_size}, {len(self)} batches of {self.batch_size}"
        return f"{how}\n{data}, {segments} restart markers, {checks}\n{shuffle}, {share}, prefetch {self._prefetch}"

    def statistics(self) -> LoaderStatistics:
        core = {} if self._engine is None or isinstance(self._engine, TransformEngine) else self._engine.statistics()
        made = 0 if self._shelf is None else self._shelf.num_made
        return LoaderStatistics(
            self._num_batches, self._num_images, self._num_by_pillow, self._waited_seconds, made, core
        )

    def close(self) -> None:
        """Stop the threads; iterating again starts new ones."""
        if self._engine is not None and self._engine_pid == os.getpid():
            self._engine.close()
        self._engine = None
        self._storage.close()

    def __enter__(self) -> RecordLoader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _order(self) -> Order:
        sizes: tuple[int, ...] = ()
        if self._window_shards:
            sizes = tuple(np.bincount(self.index.entries["shard"], minlength=len(self.index.shards)).tolist())
        count = len(self.index.entries)
        return Order(count, self._seed, self._epoch, self._shuffle, sizes, self._window_shards)

    def _steps(self, order: Order) -> Iterator[tuple[Step, Positions]]:
        """Yield the rest of the epoch's steps with their records, found for many steps at a time: that is cheaper."""
        position = self._position
        while True:
            group: list[Step] = []
            while len(group) < STEPS_AT_A_TIME:
                step = next_step(
                    position, order.num_records, self.batch_size, self._rank, self._world_size, self._drop_last
                )
                if step is None:
                    break
                group.append(step)
                position = step.position_after
            if not group:
                return
            records = order.records(np.concatenate([step.positions for step in group]))
            begin = 0
            for step in group:
                yield step, records[begin : begin + len(step.positions)]
                begin += len(step.positions)

    def _fill(
        self, ahead: deque[tuple[Step, Wanted, Any]], order: Order, steps: Iterator[tuple[Step, Positions]]
    ) -> None:
        """Start batches until `prefetch` of them are under way."""
        for step, records in islice(steps, self._prefetch - len(ahead)):
            ahead.append((step, *self._start(order, records)))

    def _start(self, order: Order, records: Positions) -> tuple[Wanted, Any]:
        entries = self.index.entries[records]
        self._storage.wait_for(entries)
        keys = keys_of(self._seed, order.epoch, records)
        wanted = Wanted(records, entries, keys, self._empty_batch(len(records)))
        return wanted, self._ready_engine().start(wanted)

    def _finish(self, wanted: Wanted, ticket: Any) -> tuple[Any, Any]:
        import torch

        engine = self._ready_engine()
        began = time.perf_counter()
        if isinstance(engine, TransformEngine):
            images = torch.stack([torch.as_tensor(sample) for sample in engine.samples(ticket)])
            made = Made(np.zeros((0, 0), np.int32), len(wanted.records))
        else:
            made = engine.finish(ticket)
            images = torch.from_numpy(wanted.out)
            if isinstance(self._plan, Recipe) and self._plan.channels_last:
                images = images.permute(0, 3, 1, 2)
        self._waited_seconds += time.perf_counter() - began
        self._num_batches += 1
        self._num_images += len(wanted.records)
        self._num_by_pillow += made.num_by_pillow
        if self.index.kind == "coco" and isinstance(self._plan, Recipe):
            return images, self._objects(wanted, made, self._plan)
        return images, torch.from_numpy(wanted.entries["label"].astype(np.int64))

    def _objects(self, wanted: Wanted, made: Made, recipe: Recipe) -> list[Any]:
        found = []
        for entry, row in zip(wanted.entries, made.geometry.tolist()):
            geometry = Geometry(*row)
            objects = objects_of(
                decode_example(self._shards.record(entry)), geometry.image_width, geometry.image_height
            )
            found.append(follow(objects, geometry, recipe.width, recipe.height))
        return found

    def _empty_batch(self, count: int) -> Any:
        plan = self._plan
        if isinstance(plan, NotRecognised):
            return np.empty((count, 0), np.uint8)
        if self._shelf is None:
            sides = (plan.height, plan.width, 3) if plan.channels_last else (3, plan.height, plan.width)
            self._shelf = Shelf((self.batch_size, *sides), np.uint8 if plan.as_bytes else np.float32, self._pinned)
        return self._shelf.take(count)

    def _ready_engine(self) -> Engine | TransformEngine:
        if self._engine is None or self._engine_pid != os.getpid():  # threads do not survive a fork
            self._engine = self._new_engine()
            self._engine_pid = os.getpid()
        return self._engine

    def _new_engine(self) -> Engine | TransformEngine:
        plan = self._plan
        if isinstance(plan, NotRecognised):
            return TransformEngine(self._shards, self._transform, self._threads)
        if native.core is None:
            return PillowEngine(self._shards, plan, self._threads)
        return NativeEngine(self._shards, plan, self._threads, self._read_ahead, self._verify)


def _plan(transform: Any, channels_last: bool) -> Recipe | NotRecognised:
    plan = training_recipe() if transform is None else recognise(transform)
    return replace(plan, channels_last=True) if isinstance(plan, Recipe) and channels_last else plan


def _num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _has_cuda() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())
