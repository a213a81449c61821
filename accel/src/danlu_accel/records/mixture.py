"""Several data sets as one stream, mixed by weight: a pure function of the position, so it can be resumed anywhere.

The stream is divided into blocks of BLOCK positions. Each block holds a fixed number of sequences of every set, its
share, shuffled. So the position alone determines which sequence of a set comes next. Each set has its own epochs: all
of its sequences once, then all of them again in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from danlu_accel.records.draws import GOLDEN, MASK, mix_number
from danlu_accel.records.order import permute

BLOCK = 4096
Numbers = npt.NDArray[np.int64]


def shares_of(weights: Sequence[float]) -> tuple[int, ...]:
    """Convert weights to sequences per block, at least one each; their sum is BLOCK."""
    if not weights or len(weights) > BLOCK:
        raise ValueError(f"weights: expected 1 to {BLOCK}, got {len(weights)}")
    for number, weight in enumerate(weights):
        if not 0 < weight < float("inf"):
            raise ValueError(f"weight of source {number}: expected a number above 0, got {weight}")
    total = float(sum(weights))
    exact = [BLOCK * weight / total for weight in weights]
    shares = [max(1, int(value)) for value in exact]
    # give what rounding left to the sets that lost most by it; take what the minimum of one needs from the largest
    for number in sorted(range(len(weights)), key=lambda number: int(exact[number]) - exact[number]):
        if sum(shares) < BLOCK:
            shares[number] += 1
    while sum(shares) > BLOCK:
        shares[shares.index(max(shares))] -= 1
    return tuple(shares)


@dataclass(frozen=True)
class Mixture:
    shares: tuple[int, ...]
    seed: int

    def places(self, positions: Numbers) -> tuple[Numbers, Numbers]:
        """Return for each position of the stream its set, and the place in that set's own stream."""
        blocks, slots = positions // BLOCK, positions % BLOCK
        sets, ordinals = np.empty_like(positions), np.empty_like(positions)
        for block in np.unique(blocks).tolist():
            chosen = blocks == block
            sets_of_block, ranks = _arrangement(self.shares, self.seed, block)
            sets[chosen], ordinals[chosen] = sets_of_block[slots[chosen]], ranks[slots[chosen]]
        return sets, blocks * np.array(self.shares, np.int64)[sets] + ordinals


@lru_cache(maxsize=64)
def _arrangement(shares: tuple[int, ...], seed: int, block: int) -> tuple[Numbers, Numbers]:
    """Return the set at each place of a block, and how many places before it have the same set."""
    key = mix_number((mix_number(seed & MASK) ^ ((block + 1) * GOLDEN)) & MASK)
    sets = np.repeat(np.arange(len(shares)), shares)[permute(np.arange(BLOCK), BLOCK, key)]
    ranks = np.empty(BLOCK, np.int64)
    for number, share in enumerate(shares):
        ranks[sets == number] = np.arange(share)
    return sets, ranks
