"""Which tokens form which sequence: pure functions of an index and a Packing.

By default a sequence holds whole documents, chosen by best fit, and is padded at the end. With `split_documents` the
documents of a shard follow each other without a gap and are cut where a sequence is full. A sequence never spans two
shards, so shards can be fetched one after another.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from danlu_accel.records import native
from danlu_accel.tokens.index import TokenIndex

Numbers = npt.NDArray[np.int64]
MAX_SEQUENCE = 1 << 24


class TooLong(str, Enum):
    """What to do with a document that is longer than a sequence, if documents are not split."""

    REFUSE = "refuse"
    """Raise ValueError with their number."""
    SPLIT = "split"
    """Split only these: into full sequences, and a rest that is packed like a document."""
    DROP = "drop"
    """Omit them."""


@dataclass(frozen=True)
class Packing:
    """How documents are packed into sequences of one length."""

    sequence_length: int
    """For a model that predicts the next of n tokens: n + 1."""
    split_documents: bool = False
    too_long: TooLong = TooLong.REFUSE
    pad_token: int = 0
    """Fills a sequence after its last document."""
    with_positions: bool = False
    """Also return the position of each token in its document, for masks and position embeddings."""

    def __post_init__(self) -> None:
        if not 1 <= self.sequence_length <= MAX_SEQUENCE:
            raise ValueError(f"sequence_length: expected 1 to {MAX_SEQUENCE}, got {self.sequence_length}")
        object.__setattr__(self, "too_long", TooLong(self.too_long))


class Runs(NamedTuple):
    """Tokens that are contiguous in a shard and in a batch, one row per run."""

    shard: Numbers
    first: Numbers
    """In tokens, from the start of the shard."""
    num_tokens: Numbers
    to: Numbers
    """In tokens, from the start of the batch."""


@dataclass(frozen=True)
class Sequences:
    """All sequences of a data set. If documents are split, `starts` and `runs` are None: they can be computed."""

    length: int
    shard_sizes: tuple[int, ...]
    """Number of sequences in each shard."""
    tokens: tuple[int, ...]
    starts: Optional[Numbers] = None
    first: Optional[Numbers] = None
    count: Optional[Numbers] = None

    @property
    def num_sequences(self) -> int:
        return sum(self.shard_sizes)

    def runs(self, numbers: Numbers) -> Runs:
        """Return the runs to read for these sequences, one row of the batch for each sequence."""
        bounds = np.concatenate([[0], np.cumsum(self.shard_sizes)])
        shards = np.searchsorted(bounds, numbers, side="right") - 1
        rows = np.arange(len(numbers), dtype=np.int64) * self.length
        if self.starts is None or self.first is None or self.count is None:
            first = (numbers - bounds[shards]) * self.length
            left = np.array(self.tokens, np.int64)[shards] - first
            return Runs(shards, first, np.minimum(left, self.length), rows)
        begin = self.starts[numbers]
        num_runs = self.starts[numbers + 1] - begin
        before = np.cumsum(num_runs) - num_runs
        which = np.repeat(begin - before, num_runs) + np.arange(int(num_runs.sum()))
        first, count = self.first[which], self.count[which]
        to = np.cumsum(count) - count
        inside = to - np.repeat(to[before], num_runs)
        return Runs(np.repeat(shards, num_runs), first, count, np.repeat(rows, num_runs) + inside)


def sequences_of(index: TokenIndex, packing: Packing) -> Sequences:
    """Return the sequences of a data set. Raises ValueError if a document is too long and `too_long` is REFUSE."""
    length = packing.sequence_length
    if packing.split_documents:
        return Sequences(length, tuple(-(-tokens // length) for tokens in index.tokens), index.tokens)
    too_long = index.lengths > length
    if packing.too_long is TooLong.REFUSE and too_long.any():
        longest = int(index.lengths.max())
        raise ValueError(
            f"sequence_length: expected at least {longest}, which the longest document has, got {length}; "
            f"{int(too_long.sum())} documents are longer: choose too_long='split' or 'drop', or split_documents=True"
        )
    sizes, firsts, counts, starts = [], [], [], [np.zeros(1, np.int64)]
    for shard in range(len(index.shards)):
        begin, end = index.first_documents[shard : shard + 2]
        first, count = _parts(index.lengths[begin:end].astype(np.int64), length, packing.too_long)
        which = _sequence_of_each(count, length)
        order = np.argsort(which, kind="stable")
        num_sequences = int(which.max()) + 1 if len(which) else 0
        num_runs = np.bincount(which, minlength=num_sequences)
        starts.append(np.cumsum(num_runs) + starts[-1][-1])
        firsts.append(first[order])
        counts.append(count[order])
        sizes.append(num_sequences)
    if not sum(sizes):
        raise ValueError(f"sequence_length: all {len(index.lengths)} documents are longer than {length}")
    return Sequences(
        length, tuple(sizes), index.tokens, np.concatenate(starts), np.concatenate(firsts), np.concatenate(counts)
    )


def _parts(lengths: Numbers, length: int, too_long: TooLong) -> tuple[Numbers, Numbers]:
    """Return start and length of each document, or part of one that is too long, in its shard."""
    first = np.cumsum(lengths) - lengths
    if too_long is TooLong.DROP:
        keep = lengths <= length
        return first[keep], lengths[keep]
    num_parts = -(-lengths // length)
    inside = np.arange(int(num_parts.sum())) - np.repeat(np.cumsum(num_parts) - num_parts, num_parts)
    first = np.repeat(first, num_parts) + inside * length
    return first, np.minimum(np.repeat(lengths, num_parts) - inside * length, length)


def _sequence_of_each(count: Numbers, length: int) -> Numbers:
    """Best fit, longest first. Sequences are numbered by their first document."""
    chosen = np.zeros(len(count), np.int64)
    fit = getattr(native.core, "fit_documents", None)  # None in a core from before tokens were supported
    if fit is not None:
        fit(count.astype(np.uint32), length, chosen)
    else:
        _best_fit(count, length, chosen)
    _, earliest, which = np.unique(chosen, return_index=True, return_inverse=True)
    rank = np.empty(len(earliest), np.int64)
    rank[np.argsort(earliest)] = np.arange(len(earliest))
    numbered: Numbers = rank[which]
    return numbered


def _best_fit(count: Numbers, length: int, chosen: Numbers) -> None:
    """The counterpart of native/tokens.cpp."""
    rooms: list[int] = []
    with_room: dict[int, list[int]] = {}
    num_made = 0
    for document in np.argsort(-count, kind="stable").tolist():
        need = int(count[document])
        at = bisect_left(rooms, need)
        if at == len(rooms):
            room, sequence = length, num_made
            num_made += 1
        else:
            room = rooms[at]
            sequence = with_room[room].pop()
            if not with_room[room]:
                del with_room[room], rooms[at]
        chosen[document] = sequence
        if room > need:
            if room - need not in with_room:
                insort(rooms, room - need)
            with_room.setdefault(room - need, []).append(sequence)


def positions_of(index: TokenIndex, runs: Runs, out: npt.NDArray[Any]) -> None:
    """Write the position of each token of these runs in its document to the flat array `out`; leave the rest of it."""
    for shard in np.unique(runs.shard).tolist():
        begin, end = index.first_documents[shard : shard + 2]
        lengths = index.lengths[begin:end].astype(np.int64)
        starts = np.cumsum(lengths) - lengths
        chosen = runs.shard == shard
        count = runs.num_tokens[chosen]
        inside = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        tokens = np.repeat(runs.first[chosen], count) + inside
        places = tokens - starts[np.searchsorted(starts, tokens, side="right") - 1]
        out[np.repeat(runs.to[chosen], count) + inside] = places
