"""The order of records: pure functions of (seed, epoch, position), so that an epoch can be resumed at any position.

A shuffle is a small Feistel cipher over the positions: it needs no memory and no state, for data of any size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from danlu_accel.records.draws import GOLDEN, MASK, mix, mix_number

Positions = npt.NDArray[np.int64]
ROUNDS = 8


def permute(positions: Positions, size: int, key: int) -> Positions:
    """Return the place of each position in a shuffle of `size` items selected by `key`. A bijection on range(size)."""
    if size <= 1:
        return np.zeros_like(positions)
    half_bits = max(1, ((size - 1).bit_length() + 1) // 2)
    half, mask = np.uint64(half_bits), np.uint64((1 << half_bits) - 1)
    round_keys = [np.uint64(mix_number((key + number * GOLDEN) & MASK)) for number in range(1, ROUNDS + 1)]

    def encrypt(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        left, right = values >> half, values & mask
        for round_key in round_keys:
            left, right = right, left ^ (mix(right ^ round_key) & mask)
        return (left << half) | right

    values = encrypt(positions.astype(np.uint64))
    outside = values >= size
    while outside.any():  # cycle walking: repeat until inside; the domain is less than 4 * size
        values[outside] = encrypt(values[outside])
        outside = values >= size
    return values.astype(np.int64)


@dataclass(frozen=True)
class Order:
    """The order of one epoch."""

    num_records: int
    seed: int
    epoch: int
    shuffle: bool = True
    shard_sizes: tuple[int, ...] = ()
    window_shards: int = 0
    """0: shuffle all records. Else: shuffle the shards, then the records within this many shards at a time."""

    def records(self, positions: Positions) -> Positions:
        """Return the records at these positions of the epoch."""
        if not self.shuffle:
            return positions
        key = mix_number((mix_number(self.seed & MASK) ^ (self.epoch * GOLDEN)) & MASK)
        if not self.window_shards:
            return permute(positions, self.num_records, key)
        return self._windowed(positions, key)

    def shards_in_order(self) -> list[int]:
        """Return the shards in the order in which a windowed epoch reads them."""
        count = len(self.shard_sizes)
        if not self.shuffle or not self.window_shards:
            return list(range(count))
        key = mix_number((mix_number(self.seed & MASK) ^ (self.epoch * GOLDEN)) & MASK)
        return [int(shard) for shard in permute(np.arange(count), count, key ^ GOLDEN)]

    def _windowed(self, positions: Positions, key: int) -> Positions:
        starts = np.concatenate([[0], np.cumsum(self.shard_sizes)])
        shards = self.shards_in_order()
        result = np.empty_like(positions)
        begin = 0
        for first in range(0, len(shards), self.window_shards):
            window = shards[first : first + self.window_shards]
            sizes = np.array([self.shard_sizes[shard] for shard in window])
            size = int(sizes.sum())
            chosen = (positions >= begin) & (positions < begin + size)
            if chosen.any():
                inside = permute(positions[chosen] - begin, size, key ^ mix_number(first + 1))
                bounds = np.concatenate([[0], np.cumsum(sizes)])
                which = np.searchsorted(bounds, inside, side="right") - 1
                result[chosen] = starts[np.array(window)[which]] + inside - bounds[which]
            begin += size
        return result


@dataclass(frozen=True)
class Step:
    """What one rank loads in one step, and the position of the epoch after it."""

    positions: Positions
    position_after: int


def next_step(
    position: int, num_records: int, batch_size: int, rank: int, world_size: int, drop_last: bool
) -> Step | None:
    """Return the step that begins at a global `position`, or None at the end of the epoch.

    All ranks take part in every step with the same number of records. The last step is divided evenly; if it cannot
    be, records from the beginning of the epoch fill it up, at most `world_size - 1`.
    """
    left = num_records - position
    if left <= 0:
        return None
    whole = batch_size * world_size
    if left < whole and drop_last:
        return None
    share = batch_size if left >= whole else -(-left // world_size)
    start = position + rank * share
    positions = np.arange(start, start + share, dtype=np.int64) % num_records
    return Step(positions, min(position + share * world_size, num_records))
