"""Base class of loaders over one data set, or several that are mixed by weight: keeps the position.

The order is a function of (seed, epoch, position) alone: the number of threads does not change it. `state_dict` resumes
an epoch in the middle, also with another number of ranks. After an epoch the loader moves on to the next one. Only one
iteration is valid at a time: a new one ends the previous one, as do `close`, and `set_epoch` and `load_state_dict` if
they change the position.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from danlu_accel.records.errors import StaleIterator
from danlu_accel.records.mixed_set import MixedSet, Numbers
from danlu_accel.records.mixture import BLOCK, Mixture, shares_of
from danlu_accel.records.options import LoaderOptions, at_least, num_cores
from danlu_accel.records.order import Step, next_step
from danlu_accel.records.python_threads import thread_pool
from danlu_accel.records.stream_state import VERSION, require_state

GROUP_THINGS = 1 << 12
"""Number of sequences or samples whose order is computed at a time."""
Set = TypeVar("Set", bound=MixedSet)
Batch = TypeVar("Batch")
Self = TypeVar("Self", bound="StreamLoader[Any, Any]")


class Things(NamedTuple):
    """The sequences or samples to load, one row each."""

    sets: Numbers
    numbers: Numbers
    """Number of each in its set."""
    epochs: Numbers
    """Epoch of its set in which each comes."""

    def part(self, begin: int, end: int) -> Things:
        return Things(*(column[begin:end] for column in self))


class StreamLoader(ABC, Generic[Set, Batch]):
    kind: str
    """Stored in the state: "tokens" or "samples"."""
    things: str
    """What an epoch counts: "sequences" or "samples"."""

    def __init__(
        self,
        sets: Sequence[Set],
        weights: Sequence[float],
        *,
        batch_size: int,
        shuffle: bool,
        epoch_length: int | None,
        options: LoaderOptions,
    ) -> None:
        at_least("batch_size", batch_size, 1)
        if options.mixing is not None:
            raise ValueError(
                f"mixing: expected None for {self.things}, got {options.mixing}; RecordLoader mixes images"
            )
        self._sets = list(sets)
        self._shares = shares_of(weights)
        for number, each in enumerate(self._sets):
            if not len(each):
                raise ValueError(f"source {number}: expected at least one of its {self.things}, got none")
        self._epoch_length = sum(len(each) for each in self._sets)
        if epoch_length is not None:
            at_least(f"epoch_{self.things}", epoch_length, 1)
            if len(self._sets) == 1 and epoch_length != self._epoch_length:
                raise ValueError(f"epoch_{self.things}: one data set has {self._epoch_length}, got {epoch_length}")
            self._epoch_length = epoch_length
        self.batch_size = batch_size
        self._options = options
        self._shuffle, self._seed = shuffle, options.seed
        self._threads = options.threads or min(4, num_cores())
        self._epoch, self._position = 0, 0
        self._iteration = 0
        self._pool: ThreadPoolExecutor | None = None
        self._pool_pid = 0

    @abstractmethod
    def _own_state(self) -> dict[str, Any]:
        """Return the settings besides the order that determine the content: a state with other values is rejected."""

    @abstractmethod
    def _batches(self, iteration: int, pid: int) -> Iterator[Batch]:
        """Yield the rest of the epoch, then move on to the next one."""

    def __len__(self) -> int:
        """Batches per epoch."""
        whole = self.batch_size * self._options.world_size
        count = self._epoch_length
        return count // whole if self._options.drop_last else -(-count // whole)

    def set_epoch(self, epoch: int) -> None:
        """Go to the beginning of an epoch; does nothing if it is the current one."""
        at_least("epoch", epoch, 0)
        if epoch != self._epoch:
            self._iteration += 1
            self._epoch, self._position = epoch, 0

    def state_dict(self) -> dict[str, Any]:
        """Return the position of training: counts batches that were returned, not those that were prefetched."""
        return {
            "version": VERSION,
            "kind": self.kind,
            "epoch": self._epoch,
            "position": self._position,
            "seed": self._seed,
            "shuffle": self._shuffle,
            f"epoch_{self.things}": self._epoch_length,
            **self._own_state(),
            "sets": [
                {"data": each.name_of_data, "window_shards": each.window_shards, "share": share}
                for each, share in zip(self._sets, self._shares)
            ],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue at the saved position, with the order saved in the state.

        Ranks, batch size, threads and location of the shards may differ. Raises ValueError if the data sets, their
        weights, the kind or packing, or the length of an epoch differ.
        """
        require_state(state, self.state_dict(), f"epoch_{self.things}")
        self._iteration += 1
        self._epoch, self._position = state["epoch"], state["position"]
        self._seed, self._shuffle = state["seed"], state["shuffle"]
        for each, saved in zip(self._sets, state["sets"]):
            each.window_shards = saved["window_shards"]

    def __iter__(self) -> Iterator[Batch]:
        self._iteration += 1
        return self._batches(self._iteration, os.getpid())

    def close(self) -> None:
        """Stop the threads; a new iteration starts new ones. Idempotent."""
        self._iteration += 1
        if self._pool is not None and self._pool_pid == os.getpid():
            self._pool.shutdown(cancel_futures=True)
        self._pool = None
        for each in self._sets:
            each.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _explain(self, first: str) -> str:
        lines = [first]
        for each, share in zip(self._sets, self._shares):
            mixed = f"{share / BLOCK:.2%} of the {self.things}: " if len(self._sets) > 1 else ""
            lines.append(mixed + each.describe())
        ranks = f"rank {self._options.rank} of {self._options.world_size}"
        return "\n".join([*lines, f"{ranks}, {len(self)} batches of {self.batch_size} an epoch"])

    def _require_current(self, iteration: int, pid: int) -> None:
        if os.getpid() != pid:
            raise StaleIterator("this iteration began in another process, whose threads are not here; iterate anew")
        if iteration != self._iteration:
            raise StaleIterator("the loader was closed, moved or iterated anew since this iteration began")

    def _follow(self, position: int) -> None:
        """Start to fetch what each set needs first; `position` counts over all epochs."""
        first = position if len(self._sets) == 1 else position // BLOCK * BLOCK  # a whole block contains every set
        sets, ordinals = self._places(np.arange(first, first + BLOCK, dtype=np.int64))
        for number, each in enumerate(self._sets):
            nearest = int(ordinals[sets == number].min())
            epoch, inside = divmod(nearest, len(each))
            order = each.order(self._seed, epoch, self._shuffle)
            each.follow(order, inside, goes_on=len(self._sets) > 1)

    def _places(self, positions: Numbers) -> tuple[Numbers, Numbers]:
        if len(self._sets) == 1:
            return np.zeros_like(positions), positions
        return Mixture(self._shares, self._seed).places(positions)

    def _things_of(self, steps: Sequence[Step], first: int) -> Things:
        """Return the sequences or samples of these steps; the epoch begins at `first`."""
        sets, ordinals = self._places(first + np.concatenate([step.positions for step in steps]))
        numbers, epochs = np.empty_like(ordinals), np.empty_like(ordinals)
        for number, each in enumerate(self._sets):
            chosen = sets == number
            numbers[chosen] = each.numbers(ordinals[chosen], self._seed, self._shuffle)
            epochs[chosen] = ordinals[chosen] // len(each)
        return Things(sets, numbers, epochs)

    def _groups(self, steps_per_chunk: int) -> Iterator[list[Step]]:
        """Yield the remaining steps of the epoch, in groups of whole chunks."""
        position = self._position
        rank, world_size, drop_last = self._options.rank, self._options.world_size, self._options.drop_last
        steps_per_group = -(-GROUP_THINGS // (self.batch_size * steps_per_chunk)) * steps_per_chunk
        while True:
            steps: list[Step] = []
            while len(steps) < steps_per_group:
                step = next_step(position, self._epoch_length, self.batch_size, rank, world_size, drop_last)
                if step is None:
                    break
                steps.append(step)
                position = step.position_after
            if not steps:
                return
            yield steps

    def _ready_pool(self) -> ThreadPoolExecutor:
        if self._pool is None or self._pool_pid != os.getpid():  # threads do not survive a fork
            self._pool = thread_pool(self._threads, f"danlu-{self.kind}")
            self._pool_pid = os.getpid()
        return self._pool
