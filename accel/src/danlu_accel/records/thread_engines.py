"""Batches from Python threads: Pillow where there is no compiled core, or any callable on PIL images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from danlu_accel.records.buffers import BatchMemory
from danlu_accel.records.engine import Engine, Made, Ticket, Wanted, broken_record, empty_geometry
from danlu_accel.records.errors import BrokenImage
from danlu_accel.records.pillow_path import open_image, render_into
from danlu_accel.records.recipe import Recipe
from danlu_accel.records.shards import ShardFiles


class Work(ABC):
    """One batch, image by image."""

    wanted: Wanted

    @abstractmethod
    def make(self, position: int) -> None:
        """Make the image at this position of the batch. Called once per position, from many threads at once."""

    @abstractmethod
    def made(self) -> Made:
        """Return the batch; called when all images are made."""


class ThreadEngine(Engine):
    """A pool of Python threads; what they do is left to `new_work`."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "danlu-records")

    @abstractmethod
    def new_work(self, wanted: Wanted) -> Work:
        """Return the work on a batch."""

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
        # A closed pool never reports the futures that it cancelled: only those that run are waited for.
        wait([future for future in self.futures if not future.cancel()])


class PillowEngine(ThreadEngine):
    """A recipe, done by Pillow."""

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
    """Any callable on PIL images. Its results are stacked, so they must be tensors of one shape."""

    def __init__(self, shards: ShardFiles, transform: Any, threads: int) -> None:
        super().__init__(threads)
        self.shards = shards
        self.transform = transform

    def new_work(self, wanted: Wanted) -> Work:
        return TransformWork(self, wanted)


class TransformWork(Work):
    def __init__(self, engine: TransformEngine, wanted: Wanted) -> None:
        self.wanted = wanted
        self._engine = engine
        self._samples: list[Any] = [None] * len(wanted.entries)

    def make(self, position: int) -> None:
        picture = open_image(self._engine.shards.image(self.wanted.entries[position]))
        self._samples[position] = self._engine.transform(picture)

    def made(self) -> Made:
        import torch

        images = torch.stack([torch.as_tensor(sample) for sample in self._samples])
        return Made(images, None, len(self._samples))
