"""Batches from Python threads: Pillow if there is no compiled core, or any callable on PIL images."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from danlu_accel.records.buffers import BatchMemory, Shelf
from danlu_accel.records.engine import Engine, Made, Ticket, Wanted, broken_record, empty_geometry
from danlu_accel.records.errors import BrokenImage
from danlu_accel.records.lazy_picture import open_lazily
from danlu_accel.records.pillow_path import render_into
from danlu_accel.records.python_threads import thread_pool
from danlu_accel.records.recipe import Recipe
from danlu_accel.records.shards import ShardFiles

if TYPE_CHECKING:
    import torch

IN_NUMPY = {f"torch.{name}": np.dtype(name) for name in ("uint8", "int32", "int64", "float16", "float32", "float64")}


class Work(ABC):
    """The work on one batch, image by image."""

    wanted: Wanted

    @abstractmethod
    def make(self, position: int) -> None:
        """Make the image at this position of the batch. Called once per position, from many threads at once."""

    @abstractmethod
    def made(self) -> Made:
        """Return the batch; called when all images are made."""


class ThreadEngine(Engine):
    """A pool of Python threads. Subclasses define the work in `new_work`."""

    def __init__(self, threads: int) -> None:
        self._threads = thread_pool(threads, "danlu-records")

    @abstractmethod
    def new_work(self, wanted: Wanted) -> Work:
        """Return the work for a batch."""

    def start(self, wanted: Wanted) -> Ticket:
        work = self.new_work(wanted)
        return ThreadTicket(
            work, [self._threads.submit(work.make, position) for position in range(len(wanted.entries))]
        )

    def statistics(self) -> dict[str, float]:
        return {}

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class ThreadTicket(Ticket):
    work: Work
    futures: list[Future[None]]

    def finish(self) -> Made:
        wait(self.futures)
        for position, future in enumerate(self.futures):
            try:
                future.result()
            except BrokenImage as error:
                raise broken_record(int(self.work.wanted.records[position]), error) from error
        return self.work.made()

    def abandon(self) -> None:
        # A closed pool never completes cancelled futures, so wait only for running ones.
        wait([future for future in self.futures if not future.cancel()])


class PillowEngine(ThreadEngine):
    """Runs a recipe with Pillow."""

    def __init__(self, shards: ShardFiles, recipe: Recipe, memory: BatchMemory, threads: int) -> None:
        super().__init__(threads)
        self.shards = shards
        self.recipe = recipe
        self.memory = memory

    def new_work(self, wanted: Wanted) -> Work:
        return PillowWork(self, wanted)


class PillowWork(Work):
    def __init__(self, engine: PillowEngine, wanted: Wanted) -> None:
        self.wanted = wanted
        self._engine = engine
        self._out = engine.memory.take(len(wanted.entries))
        self._geometry = empty_geometry(len(wanted.entries))

    def make(self, position: int) -> None:
        image = self._engine.shards.image(self.wanted.entries[position])
        key = int(self.wanted.keys[position])
        self._geometry[position] = render_into(self._out[position], image, self._engine.recipe, key).as_row()

    def made(self) -> Made:
        return Made(self._engine.memory.as_images(self._out), self._geometry, len(self.wanted.entries))


class TransformEngine(ThreadEngine):
    """Runs any callable on PIL images. All its results must have the same shape and type: they become one tensor."""

    def __init__(self, shards: ShardFiles, transform: Any, threads: int) -> None:
        super().__init__(threads)
        self.shards = shards
        self.transform = transform
        self._shelf: Shelf | None = None
        self._lock = threading.Lock()

    def new_work(self, wanted: Wanted) -> Work:
        return TransformWork(self, wanted)

    def room_for(self, sample: torch.Tensor, count: int) -> torch.Tensor | None:
        """Return unused memory for `count` such samples; None if numpy does not have their type."""
        import torch

        dtype = IN_NUMPY.get(str(sample.dtype))
        if dtype is None or sample.device.type != "cpu" or sample.layout != torch.strided or sample.requires_grad:
            return None
        with self._lock:
            if self._shelf is None or not self._shelf.has_room_for(count, tuple(sample.shape), dtype):
                self._shelf = Shelf((count, *sample.shape), dtype)
            return torch.from_numpy(self._shelf.take(count))


class TransformWork(Work):
    """Samples are copied to their rows by the thread that made them, while they are in its cache."""

    def __init__(self, engine: TransformEngine, wanted: Wanted) -> None:
        self.wanted = wanted
        self._engine = engine
        self._samples: list[Any] = [None] * len(wanted.entries)
        self._batch: torch.Tensor | None = None
        self._all_in_batch = True
        self._lock = threading.Lock()

    def make(self, position: int) -> None:
        import torch

        picture = open_lazily(self._engine.shards.image(self.wanted.entries[position]))
        sample = torch.as_tensor(self._engine.transform(picture))
        with self._lock:
            if self._batch is None:
                self._batch = self._engine.room_for(sample, len(self._samples))
        batch = self._batch
        if batch is None or batch.shape[1:] != sample.shape or batch.dtype != sample.dtype:
            self._samples[position] = sample
            self._all_in_batch = False
        else:
            self._samples[position] = batch[position].copy_(sample)

    def made(self) -> Made:
        import torch

        if self._batch is not None and self._all_in_batch:
            return Made(self._batch, None, len(self._samples))
        return Made(torch.stack(self._samples), None, len(self._samples))  # raises, with the shapes, if they differ
