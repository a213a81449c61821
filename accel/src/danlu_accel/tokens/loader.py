"""TokenLoader: batches of token sequences for training, read directly from shards."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt

from danlu_accel.records.buffers import Shelf
from danlu_accel.records.files import Name
from danlu_accel.records.options import LoaderOptions, wants_pinned
from danlu_accel.records.order import Step
from danlu_accel.records.stream_loader import StreamLoader, Things
from danlu_accel.tokens.sequences import Packing, Runs
from danlu_accel.tokens.sets import TokenSet

if TYPE_CHECKING:
    import torch

CHUNK_TOKENS = 1 << 18
"""Batches are made this many tokens at a time, to save hand-overs between threads."""


@dataclass(frozen=True)
class TokenSource:
    """One of several data sets to mix."""

    path: Name
    weight: float = 1.0
    """Share of all sequences, relative to the weights of the others; exact to 1/4096."""


class TokenBatch(NamedTuple):
    tokens: torch.Tensor
    """int64, one row per sequence, padded at the end."""
    lengths: torch.Tensor
    """int64: tokens per row without padding."""
    positions: Optional[torch.Tensor]
    """int32: position of each token in its document, -1 in the padding; None unless the Packing requests it."""

    def inputs_and_targets(self, ignore: int = -100) -> tuple[torch.Tensor, torch.Tensor]:
        """Return all tokens but the last, and the token that follows each.

        Targets in the padding are `ignore`, as cross entropy expects; with positions, so are those in another document.
        """
        import torch

        targets = self.tokens[:, 1:].clone()
        places = torch.arange(1, self.tokens.shape[1])
        targets[places >= self.lengths[:, None]] = ignore
        if self.positions is not None:
            # a part of a split document starts at any position, so it is not enough to look for 0
            targets[self.positions[:, 1:] != self.positions[:, :-1] + 1] = ignore
        return self.tokens[:, :-1], targets


class _Room(NamedTuple):
    """Memory for the sequences of a chunk."""

    tokens: npt.NDArray[Any]
    positions: Optional[npt.NDArray[Any]]


class _Wanted(NamedTuple):
    """The sequences of a chunk: batches that share memory."""

    steps: list[Step]
    things: Things


class _Chunk(NamedTuple):
    """A chunk in progress."""

    steps: list[Step]
    made: Future[TokenBatch]


class TokenLoader(StreamLoader[TokenSet, TokenBatch]):
    """Iterate over TokenBatch, from one data set or several mixed by weight."""

    kind = "tokens"
    things = "sequences"

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
        """`source`: path or URL (s3://, https://) of an index made by `pack_tokens`, or several TokenSource.

        `epoch_sequences`: length of an epoch of a mixture; None: the total of its sets. Each set has its own epochs
        meanwhile. With a single data set an epoch is always the whole data set.
        """
        options = options or LoaderOptions()
        sources = [TokenSource(source)] if isinstance(source, (str, os.PathLike)) else list(source)
        super().__init__(
            [TokenSet(each.path, packing, options) for each in sources],
            [each.weight for each in sources],
            batch_size=batch_size,
            shuffle=shuffle,
            epoch_length=epoch_sequences,
            options=options,
        )
        self.packing = packing
        self._steps_per_chunk = max(1, CHUNK_TOKENS // (batch_size * packing.sequence_length))
        self._shelves: tuple[Shelf, Shelf | None] | None = None

    def explain(self) -> str:
        """Describe in a few lines what is read and how."""
        how = "documents are split" if self.packing.split_documents else "documents stay whole"
        return self._explain(f"{self.packing.sequence_length} tokens a sequence, {how}, {self._threads} threads")

    def _own_state(self) -> dict[str, Any]:
        packing = self.packing
        return {
            "packing": {
                "sequence_length": packing.sequence_length,
                "split_documents": packing.split_documents,
                "too_long": packing.too_long.value,
            }
        }

    def _batches(self, iteration: int, pid: int) -> Iterator[TokenBatch]:
        self._require_current(iteration, pid)
        epoch, first = self._epoch, self._epoch * self._epoch_length
        self._follow(first + self._position)
        chunks = self._chunks(first)
        ahead: deque[_Chunk] = deque()
        try:
            while True:
                for wanted in islice(chunks, self._threads + self._options.prefetch - 1 - len(ahead)):
                    room = self._room(len(wanted.things.sets))
                    ahead.append(_Chunk(wanted.steps, self._ready_pool().submit(self._make, wanted.things, room)))
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
                del chunk, made  # else their memory could not be reused
        finally:  # the training loop may stop early, while threads still fill chunks
            if os.getpid() == pid:
                wait([chunk.made for chunk in ahead if not chunk.made.cancel()])
        self._epoch, self._position = epoch + 1, 0

    def _chunks(self, first: int) -> Iterator[_Wanted]:
        """Yield the rest of the epoch. The order of many sequences is computed at a time, which is cheaper."""
        for group in self._groups(self._steps_per_chunk):
            things = self._things_of(group, first)
            begin = 0
            for at in range(0, len(group), self._steps_per_chunk):
                steps = group[at : at + self._steps_per_chunk]
                end = begin + sum(len(step.positions) for step in steps)
                yield _Wanted(steps, things.part(begin, end))
                begin = end

    def _make(self, things: Things, room: _Room) -> TokenBatch:
        """Make the sequences of a chunk. Runs in a thread."""
        import torch

        length = self.packing.sequence_length
        tokens, places = room
        runs_of_sets: list[tuple[TokenSet, Runs]] = []
        num_tokens = np.zeros(len(things.sets), np.int64)
        for number, each in enumerate(self._sets):
            rows = np.flatnonzero(things.sets == number)
            if not len(rows):
                continue
            each.wait_for(things.numbers[rows], things.epochs[rows])
            runs = each.sequences.runs(things.numbers[rows])
            runs = runs._replace(to=rows[runs.to // length] * length + runs.to % length)
            num_tokens += np.bincount(runs.to // length, runs.num_tokens, len(things.sets)).astype(np.int64)
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
