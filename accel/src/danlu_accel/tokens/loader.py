"""TokenLoader: batches of token sequences for training, straight from shards."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt

from danlu_accel.records.buffers import Shelf
from danlu_accel.records.errors import StaleIterator
from danlu_accel.records.files import Name
from danlu_accel.records.options import LoaderOptions, at_least, num_cores, wants_pinned
from danlu_accel.records.order import Step, next_step
from danlu_accel.tokens.mixture import BLOCK, Mixture, shares_of
from danlu_accel.tokens.sequences import Packing, Runs
from danlu_accel.tokens.sets import TokenSet
from danlu_accel.tokens.state import VERSION, require_state

if TYPE_CHECKING:
    import torch

CHUNK_TOKENS = 1 << 18
"""Batches are made so many tokens at a time: one hand-over between threads for all of them."""
GROUP_SEQUENCES = 1 << 12
"""The order is found for so many sequences at a time."""
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TokenSource:
    """One of several data sets that are mixed."""

    path: Name
    weight: float = 1.0
    """Its share of all sequences, relative to the weights of the others; exact to 1/4096."""


class TokenBatch(NamedTuple):
    tokens: torch.Tensor
    """int64, one row per sequence, padded behind its last token."""
    lengths: torch.Tensor
    """int64: how many tokens of each row are none of the padding."""
    positions: Optional[torch.Tensor]
    """int32: the place of each token in its document, -1 in the padding; None unless the Packing asks for it."""

    def inputs_and_targets(self, ignore: int = -100) -> tuple[torch.Tensor, torch.Tensor]:
        """Return all tokens but the last, and for each the one that follows it.

        Padding, and with positions the first token of the next document, is `ignore`, as cross entropy wants it.
        """
        import torch

        targets = self.tokens[:, 1:].clone()
        places = torch.arange(1, self.tokens.shape[1])
        targets[places >= self.lengths[:, None]] = ignore
        if self.positions is not None:
            targets[self.positions[:, 1:] == 0] = ignore
        return self.tokens[:, :-1], targets


class _Room(NamedTuple):
    """Memory for the sequences of a chunk."""

    tokens: npt.NDArray[Any]
    positions: Optional[npt.NDArray[Any]]


class _Wanted(NamedTuple):
    """The sequences of a chunk: batches of one piece of memory."""

    steps: list[Step]
    sets: Numbers
    numbers: Numbers
    """Which sequence of its set each is."""


class _Chunk(NamedTuple):
    """A chunk under way."""

    steps: list[Step]
    made: Future[TokenBatch]


class TokenLoader:
    """Iterate over TokenBatch, from one data set or from several that are mixed by weight.

    The order is a function of (seed, epoch, position) alone: any number of threads gives the same batches, an epoch can
    be resumed in the middle with `state_dict`, also with another number of ranks. A finished epoch moves on to the next
    one by itself. One iteration at a time: a new one ends the one before it, as do `close`, and `set_epoch` and
    `load_state_dict` when they move the loader.
    """

    def __init__(
        self,
        source: Union[Name, Sequence[TokenSource]],
        packing: Packing,
        *,
        batch_size: int = 8,
        shuffle: bool = True,
        epoch_sequences: int | None = None,
        options: LoaderOptions | None = None,
    ) -> None:
        """`source`: the path or URL (s3://, https://) of an index that `pack_tokens` made, or several TokenSource.

        `epoch_sequences`: how long an epoch of a mixture is; None: as long as all its sets together. Each set goes
        through epochs of its own meanwhile. An epoch of one data set is always the data set.
        """
        at_least("batch_size", batch_size, 1)
        self._options = options or LoaderOptions()
        sources = [TokenSource(source)] if isinstance(source, (str, os.PathLike)) else list(source)
        self._shares = shares_of([each.weight for each in sources])
        self._sets = [TokenSet(each.path, packing, self._options) for each in sources]
        self._epoch_sequences = sum(len(each) for each in self._sets)
        if epoch_sequences is not None:
            at_least("epoch_sequences", epoch_sequences, 1)
            if len(sources) == 1 and epoch_sequences != self._epoch_sequences:
                raise ValueError(f"epoch_sequences: one data set has {self._epoch_sequences}, got {epoch_sequences}")
            self._epoch_sequences = epoch_sequences
        self.packing = packing
        self.batch_size = batch_size
        self._shuffle, self._seed = shuffle, self._options.seed
        self._threads = self._options.threads or min(4, num_cores())
        self._steps_per_chunk = max(1, CHUNK_TOKENS // (batch_size * packing.sequence_length))
        self._epoch, self._position = 0, 0
        self._iteration = 0
        self._pool: ThreadPoolExecutor | None = None
        self._pool_pid = 0
        self._shelves: tuple[Shelf, Shelf | None] | None = None

    def __len__(self) -> int:
        """Batches of a whole epoch."""
        whole = self.batch_size * self._options.world_size
        count = self._epoch_sequences
        return count // whole if self._options.drop_last else -(-count // whole)

    def set_epoch(self, epoch: int) -> None:
        """Go to the beginning of an epoch, unless that is where we are."""
        at_least("epoch", epoch, 0)
        if epoch != self._epoch:
            self._iteration += 1
            self._epoch, self._position = epoch, 0

    def state_dict(self) -> dict[str, Any]:
        """Where training stands: batches handed out count, batches made ahead do not."""
        packing = self.packing
        return {
            "version": VERSION,
            "kind": "tokens",
            "epoch": self._epoch,
            "position": self._position,
            "seed": self._seed,
            "shuffle": self._shuffle,
            "epoch_sequences": self._epoch_sequences,
            "packing": {
                "sequence_length": packing.sequence_length,
                "split_documents": packing.split_documents,
                "too_long": packing.too_long.value,
            },
            "sets": [
                {"data": each.index.name_of_data, "window_shards": each.window_shards, "share": share}
                for each, share in zip(self._sets, self._shares)
            ],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to where the state was saved, and take over the order that it names, from here on.

        Ranks, batch size, threads and the place of the shards may differ. Raises ValueError where the data sets, their
        weights, the packing or the length of an epoch do.
        """
        require_state(state, self.state_dict())
        self._iteration += 1
        self._epoch, self._position = state["epoch"], state["position"]
        self._seed, self._shuffle = state["seed"], state["shuffle"]
        for each, saved in zip(self._sets, state["sets"]):
            each.window_shards = saved["window_shards"]

    def __iter__(self) -> Iterator[TokenBatch]:
        self._iteration += 1
        return self._batches(self._iteration, os.getpid())

    def explain(self) -> str:
        """Say in a few lines what is read and how."""
        how = "documents are split" if self.packing.split_documents else "documents stay whole"
        lines = [f"{self.packing.sequence_length} tokens a sequence, {how}, {self._threads} threads"]
        for each, share in zip(self._sets, self._shares):
            mixed = f"{share / BLOCK:.2%} of the sequences: " if len(self._sets) > 1 else ""
            lines.append(mixed + each.describe())
        ranks = f"rank {self._options.rank} of {self._options.world_size}"
        return "\n".join([*lines, f"{ranks}, {len(self)} batches of {self.batch_size} an epoch"])

    def close(self) -> None:
        """Stop the threads; iterating again starts new ones. Idempotent."""
        self._iteration += 1
        if self._pool is not None and self._pool_pid == os.getpid():
            self._pool.shutdown(cancel_futures=True)
        self._pool = None
        for each in self._sets:
            each.close()

    def __enter__(self) -> TokenLoader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _batches(self, iteration: int, pid: int) -> Iterator[TokenBatch]:
        self._require_current(iteration, pid)
        epoch, first = self._epoch, self._epoch * self._epoch_sequences
        self._follow(first + self._position)
        chunks = self._chunks(first)
        ahead: deque[_Chunk] = deque()
        try:
            while True:
                for wanted in islice(chunks, self._threads + self._options.prefetch - 1 - len(ahead)):
                    room = self._room(len(wanted.sets))
                    ahead.append(_Chunk(wanted.steps, self._ready_pool().submit(self._make, wanted, room)))
                    del room
                if not ahead:
                    break
                chunk = ahead.popleft()
                made = chunk.made.result()
                begin = 0
                for step in chunk.steps:
                    end = begin + len(step.positions)
                    self._position = step.position_after
                    yield TokenBatch(*(None if part is None else part[begin:end] for part in made))  # type: ignore[arg-type]
                    self._require_current(iteration, pid)
                    begin = end
                del chunk, made  # else their memory could not be used again
        finally:  # the training loop may stop in the middle, while threads still fill what was started
            if os.getpid() == pid:
                wait([chunk.made for chunk in ahead if not chunk.made.cancel()])
        self._epoch, self._position = epoch + 1, 0

    def _require_current(self, iteration: int, pid: int) -> None:
        if os.getpid() != pid:
            raise StaleIterator("this iteration began in another process, whose threads are not here; iterate anew")
        if iteration != self._iteration:
            raise StaleIterator("the loader was closed, moved or iterated anew since this iteration began")

    def _follow(self, position: int) -> None:
        """Let each set fetch what it will be asked for first."""
        first = position if len(self._sets) == 1 else position // BLOCK * BLOCK  # a whole block has something of each
        sets, ordinals = self._places(np.arange(first, first + BLOCK, dtype=np.int64))
        for number, each in enumerate(self._sets):
            nearest = int(ordinals[sets == number].min())
            epoch, inside = divmod(nearest, len(each))
            each.follow(each.order(self._seed, epoch, self._shuffle), inside)

    def _places(self, positions: Numbers) -> tuple[Numbers, Numbers]:
        if len(self._sets) == 1:
            return np.zeros_like(positions), positions
        return Mixture(self._shares, self._seed).places(positions)

    def _chunks(self, first: int) -> Iterator[_Wanted]:
        """Yield the rest of the epoch, whose order is found for many sequences at a time: that is cheaper."""
        for group in self._groups():
            sets, ordinals = self._places(first + np.concatenate([step.positions for step in group]))
            numbers = np.empty_like(ordinals)
            for number, each in enumerate(self._sets):
                chosen = sets == number
                numbers[chosen] = each.numbers(ordinals[chosen], self._seed, self._shuffle)
            begin = 0
            for at in range(0, len(group), self._steps_per_chunk):
                steps = group[at : at + self._steps_per_chunk]
                end = begin + sum(len(step.positions) for step in steps)
                yield _Wanted(steps, sets[begin:end], numbers[begin:end])
                begin = end

    def _groups(self) -> Iterator[list[Step]]:
        """Yield the rest of the epoch's steps, whole chunks of them at a time."""
        position = self._position
        rank, world_size, drop_last = self._options.rank, self._options.world_size, self._options.drop_last
        steps_per_group = -(-GROUP_SEQUENCES // (self.batch_size * self._steps_per_chunk)) * self._steps_per_chunk
        while True:
            steps: list[Step] = []
            while len(steps) < steps_per_group:
                step = next_step(position, self._epoch_sequences, self.batch_size, rank, world_size, drop_last)
                if step is None:
                    break
                steps.append(step)
                position = step.position_after
            if not steps:
                return
            yield steps

    def _make(self, wanted: _Wanted, room: _Room) -> TokenBatch:
        """Make the sequences of a chunk side by side. Runs in a thread."""
        import torch

        length = self.packing.sequence_length
        tokens, places = room
        runs_of_sets: list[tuple[TokenSet, Runs]] = []
        num_tokens = np.zeros(len(wanted.sets), np.int64)
        for number, each in enumerate(self._sets):
            rows = np.flatnonzero(wanted.sets == number)
            if not len(rows):
                continue
            runs = each.sequences.runs(wanted.numbers[rows])
            runs = runs._replace(to=rows[runs.to // length] * length + runs.to % length)
            num_tokens += np.bincount(runs.to // length, runs.num_tokens, len(wanted.sets)).astype(np.int64)
            runs_of_sets.append((each, runs))
        for row in np.flatnonzero(num_tokens < length).tolist():
            tokens[row, num_tokens[row] :] = self.packing.pad_token
        if places is not None:
            places[...] = -1
        for each, runs in runs_of_sets:
            each.read(runs, tokens.reshape(-1), None if places is None else places.reshape(-1))
        positions_made = None if places is None else torch.from_numpy(places)
        return TokenBatch(torch.from_numpy(tokens), torch.from_numpy(num_tokens), positions_made)

    def _room(self, count: int) -> _Room:
        if self._shelves is None:
            shape = (self._steps_per_chunk * self.batch_size, self.packing.sequence_length)
            is_pinned = wants_pinned(self._options)
            places = Shelf(shape, np.int32, is_pinned) if self.packing.with_positions else None
            self._shelves = (Shelf(shape, np.int64, is_pinned), places)
        tokens, positions = self._shelves
        return _Room(tokens.take(count), None if positions is None else positions.take(count))

    def _ready_pool(self) -> ThreadPoolExecutor:
        if self._pool is None or self._pool_pid != os.getpid():  # threads do not survive a fork
            self._pool = ThreadPoolExecutor(self._threads, "danlu-tokens")
            self._pool_pid = os.getpid()
        return self._pool
