"""RecordLoader: batches for training, read directly from shards."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from danlu_accel.records import native
from danlu_accel.records.boxes import Objects, objects_in
from danlu_accel.records.buffers import BatchMemory
from danlu_accel.records.dataset import open_index, require_known
from danlu_accel.records.draws import Geometry, keys_of
from danlu_accel.records.engine import Engine, Made, Ticket, Wanted
from danlu_accel.records.errors import StaleIterator
from danlu_accel.records.files import Name
from danlu_accel.records.mixing import mix, require_classes
from danlu_accel.records.native_engine import NativeEngine
from danlu_accel.records.options import LoaderOptions, at_least, num_cores, wants_pinned
from danlu_accel.records.order import Order, Positions, Step, next_step
from danlu_accel.records.recipe import NotRecognised, Recipe, recognise, training_recipe
from danlu_accel.records.shards import ShardFiles
from danlu_accel.records.state import LoaderState, name_of_data, read_state
from danlu_accel.records.storage import storage_for
from danlu_accel.records.thread_engines import PillowEngine, TransformEngine

STEPS_AT_A_TIME = 16
Steps = Iterator[tuple[Step, Positions]]


@dataclass(frozen=True)
class LoaderStatistics:
    """Counts and times since the loader was created. Times of work are summed over threads."""

    batches: int
    images: int
    images_by_pillow: int
    """Images that the compiled core does not support and Pillow made."""
    waited_seconds: float
    """How long the training loop waited for batches."""
    buffers: int
    core: dict[str, float]
    """Counts and seconds of the compiled core: read, verify, decode, idle."""


@dataclass(frozen=True)
class Started:
    """A batch that the engine has started."""

    step: Step
    wanted: Wanted
    ticket: Ticket


@dataclass(frozen=True)
class Finished:
    position_after: int
    made: Made
    targets: Any


@dataclass(frozen=True)
class UnderWay:
    """A batch that was not yet returned to the training loop. A result of None marks the end of the epoch."""

    started: Future[Started | None]
    finished: Future[Finished | None]


class RecordLoader:
    """Iterate over (images, labels) batches; over (images, list of Objects) for data packed from COCO.

    The order is a function of (seed, epoch, position) alone: the number of threads does not change it. `state_dict`
    resumes an epoch in the middle, also with another number of ranks; `set_epoch` selects the shuffle. After an epoch
    the loader moves on to the next one. Only one iteration is valid at a time: a new one ends the previous one, as do
    `close`, and `set_epoch` and `load_state_dict` if they change the position.
    """

    def __init__(
        self,
        tfrecord_dir: Name,
        tfrecord_file: Name,
        transform: Any = None,
        *,
        batch_size: int = 64,
        shuffle: bool = True,
        options: LoaderOptions | None = None,
    ) -> None:
        """`transform`: a Recipe, a torchvision Compose, any callable on PIL images, or None for training_recipe().

        `tfrecord_dir` may be s3://bucket/prefix or http(s)://...; shards are then kept in `options.cache_dir`.
        """
        at_least("batch_size", batch_size, 1)
        options = options or LoaderOptions()
        self._options = options
        self._storage = storage_for(tfrecord_dir, options.cache_dir, options.cache_bytes)
        folder = self._storage.prepare(tfrecord_file)
        self.index = open_index(folder, Path(str(tfrecord_file)).name if self._storage.is_remote else tfrecord_file)
        self._transform = transform
        self._plan = _plan(transform, options.channels_last)
        require_known(self._plan, self.index)
        if options.mixing is not None:
            require_classes(self.index)
        self._shards = ShardFiles(folder, self.index, verify=options.verify, fetch_again=self._storage.fetch_again)
        self._storage.use(self.index.shards, self._shards.files.forget)
        self.batch_size = batch_size
        self._shuffle, self._seed = shuffle, options.seed
        self._threads = options.threads or num_cores()
        self._read_ahead = self._storage.read_ahead(folder) if options.read_ahead is None else options.read_ahead
        is_windowed = self._storage.is_remote
        self._window_shards = (4 if is_windowed else 0) if options.window_shards is None else options.window_shards
        self._epoch, self._position = 0, 0
        self._iteration = 0
        self._engine: Engine | None = None
        self._starter: ThreadPoolExecutor | None = None
        self._finisher: ThreadPoolExecutor | None = None
        self._engine_pid = 0
        self._memory: BatchMemory | None = None
        self._num_batches = self._num_images = self._num_by_pillow = 0
        self._waited_seconds = 0.0

    def __len__(self) -> int:
        """Batches per epoch."""
        whole = self.batch_size * self._options.world_size
        count = len(self.index.entries)
        return count // whole if self._options.drop_last else -(-count // whole)

    def set_epoch(self, epoch: int) -> None:
        """Go to the beginning of an epoch; does nothing if it is the current one."""
        if epoch != self._epoch:
            self._iteration += 1
            self._epoch, self._position = epoch, 0

    def state_dict(self) -> dict[str, Any]:
        """Return the position of training: counts batches that were returned, not those that were prefetched."""
        return LoaderState(
            self._epoch, self._position, self._seed, self._shuffle, self._window_shards, self._data
        ).to_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue at the saved position, with the order saved in the state.

        Ranks, batch size, threads and location of the shards may differ. Raises ValueError for another data set.
        """
        found = read_state(state, self.index, self._data)
        self._iteration += 1
        self._epoch, self._position = found.epoch, found.position
        self._seed, self._shuffle, self._window_shards = found.seed, found.shuffle, found.window_shards

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        self._iteration += 1
        return self._batches(self._iteration, os.getpid())

    def explain(self) -> str:
        """Describe in a few lines how batches are made, and why."""
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
        checks = "checksums verified" if self._options.verify else "checksums NOT verified"
        ranks = f"rank {self._options.rank} of {self._options.world_size}"
        share = f"{ranks}, {len(self)} batches of {self.batch_size}, prefetch {self._options.prefetch}"
        return f"{how}\n{data}, {segments} restart markers, {checks}\n{shuffle}, {share}"

    def statistics(self) -> LoaderStatistics:
        return LoaderStatistics(
            batches=self._num_batches,
            images=self._num_images,
            images_by_pillow=self._num_by_pillow,
            waited_seconds=self._waited_seconds,
            buffers=0 if self._memory is None else self._memory.num_made,
            core={} if self._engine is None else self._engine.statistics(),
        )

    def close(self) -> None:
        """Stop the threads; a new iteration starts new ones. Idempotent."""
        self._iteration += 1
        if self._engine is not None and self._engine_pid == os.getpid():
            for thread in (self._starter, self._finisher):
                if thread is not None:
                    thread.shutdown(cancel_futures=True)
            self._engine.close()
        self._engine = self._starter = self._finisher = None
        self._shards.close()
        self._storage.close()

    def __enter__(self) -> RecordLoader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @cached_property
    def _data(self) -> str:
        return name_of_data(self.index)

    def _batches(self, iteration: int, pid: int) -> Iterator[tuple[Any, Any]]:
        self._require_current(iteration, pid)
        order = self._order()
        self._storage.follow(order, self._position)
        engine = self._ready_engine()
        steps = self._steps(order, self._position)
        ahead: deque[UnderWay] = deque()
        try:
            while True:
                self._fill(ahead, order, steps, engine)
                finished = self._wait(ahead[0])
                if finished is None:
                    break
                ahead.popleft()
                self._position = finished.position_after
                batch = (finished.made.images, finished.targets)
                del finished
                self._fill(ahead, order, steps, engine)  # the threads continue while the training loop works
                yield batch
                del batch  # else its buffer could not be reused
                self._require_current(iteration, pid)
        finally:  # the training loop may stop early, while threads still fill batches
            if os.getpid() == pid:
                _abandon(ahead)
        self._epoch, self._position = order.epoch + 1, 0

    def _require_current(self, iteration: int, pid: int) -> None:
        if os.getpid() != pid:
            raise StaleIterator("this iteration began in another process, whose threads are not here; iterate anew")
        if iteration != self._iteration:
            raise StaleIterator("the loader was closed, moved or iterated anew since this iteration began")

    def _order(self) -> Order:
        sizes: tuple[int, ...] = ()
        if self._window_shards:
            sizes = tuple(np.bincount(self.index.entries["shard"], minlength=len(self.index.shards)).tolist())
        count = len(self.index.entries)
        return Order(count, self._seed, self._epoch, self._shuffle, sizes, self._window_shards)

    def _steps(self, order: Order, position: int) -> Steps:
        """Yield the remaining steps of the epoch with their records; looking up many steps at a time is cheaper."""
        rank, world_size, drop_last = self._options.rank, self._options.world_size, self._options.drop_last
        while True:
            group: list[Step] = []
            while len(group) < STEPS_AT_A_TIME:
                step = next_step(position, order.num_records, self.batch_size, rank, world_size, drop_last)
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

    def _fill(self, ahead: deque[UnderWay], order: Order, steps: Steps, engine: Engine) -> None:
        """Start batches until `prefetch` of them are under way. Two threads do it, so training need not wait."""
        assert self._starter is not None
        assert self._finisher is not None
        while len(ahead) < self._options.prefetch:
            started = self._starter.submit(self._start, order, steps, engine)
            ahead.append(UnderWay(started, self._finisher.submit(self._finish, started)))

    def _start(self, order: Order, steps: Steps, engine: Engine) -> Started | None:
        """Start the next batch in the engine; return None at the end of the epoch."""
        following = next(steps, None)
        if following is None:
            return None
        step, records = following
        entries = self.index.entries[records]
        self._storage.wait_for(np.unique(entries["shard"]).tolist())
        wanted = Wanted(records, entries, keys_of(self._seed, order.epoch, records))
        return Started(step, wanted, engine.start(wanted))

    def _finish(self, started: Future[Started | None]) -> Finished | None:
        """Wait for a batch."""
        batch = started.result()
        if batch is None:
            return None
        made = batch.ticket.finish()
        return Finished(batch.step.position_after, made, self._targets(batch, made))

    def _wait(self, under_way: UnderWay) -> Finished | None:
        began = time.perf_counter()
        finished = under_way.finished.result()
        if finished is not None:
            self._waited_seconds += time.perf_counter() - began
            self._num_batches += 1
            self._num_images += len(finished.made.images)
            self._num_by_pillow += finished.made.num_by_pillow
        return finished

    def _targets(self, batch: Started, made: Made) -> Any:
        import torch

        wanted = batch.wanted
        if self.index.kind == "coco":
            return self._objects(wanted, made)
        labels = torch.from_numpy(wanted.entries["label"].astype(np.int64))
        if self._options.mixing is None:
            return labels
        return mix(self._options.mixing, made.images, labels, batch.step.positions, wanted.keys)

    def _objects(self, wanted: Wanted, made: Made) -> list[Objects]:
        assert isinstance(self._plan, Recipe)
        assert made.geometry is not None
        return [
            objects_in(self._shards.record(entry), Geometry(*row), self._plan)
            for entry, row in zip(wanted.entries, made.geometry.tolist())
        ]

    def _ready_engine(self) -> Engine:
        if self._engine is None or self._engine_pid != os.getpid():  # threads do not survive a fork
            self._engine = self._new_engine()
            self._starter = ThreadPoolExecutor(1, "danlu-start")
            self._finisher = ThreadPoolExecutor(1, "danlu-finish")
            self._engine_pid = os.getpid()
        return self._engine

    def _new_engine(self) -> Engine:
        plan, threads = self._plan, self._threads
        if isinstance(plan, NotRecognised):
            return TransformEngine(self._shards, self._transform, threads)
        if self._memory is None:
            self._memory = BatchMemory(plan, self.batch_size, wants_pinned(self._options))
        if native.core is None:
            return PillowEngine(self._shards, plan, self._memory, threads)
        return NativeEngine(
            self._shards,
            plan,
            self._memory,
            threads=threads,
            read_ahead=self._read_ahead,
            verify=self._options.verify,
        )


def _abandon(ahead: Iterable[UnderWay]) -> None:
    """Cancel batches, and return when no thread works on them."""
    for each in list(ahead)[::-1]:  # last ones first: cancelling a batch would let the next one start
        each.started.cancel()
        if not each.finished.cancel():
            wait([each.finished])
            continue
        if each.started.cancelled():
            continue
        wait([each.started])
        batch = None if each.started.exception() is not None else each.started.result()
        if batch is not None:
            batch.ticket.abandon()


def _plan(transform: Any, channels_last: bool) -> Recipe | NotRecognised:
    plan = training_recipe() if transform is None else recognise(transform)
    return replace(plan, channels_last=True) if isinstance(plan, Recipe) and channels_last else plan
