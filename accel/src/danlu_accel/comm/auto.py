"""Choose an algorithm by measuring: each candidate runs for a few steps, then rank 0 decides for all."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence

import torch
import torch.distributed as dist

from danlu_accel.comm.exchange import Exchange, reaching_peers
from danlu_accel.comm.stats import StepStats


class Auto:
    """A function of the step number that returns the same algorithm on every rank."""

    def __init__(
        self,
        candidates: Sequence[Exchange],
        num_steps_each: int,
        group: dist.ProcessGroup,
        steps: Collection[StepStats],
    ) -> None:
        self._candidates = candidates
        self._num_steps_each = num_steps_each
        self._group = group
        self._steps = steps
        self.decision: str = f"measuring {', '.join(each.name for each in candidates)} for {num_steps_each} steps each"
        self._chosen = candidates[0]

    def __call__(self, step: int) -> Exchange:
        # DDP rebuilds its buckets after its first step, so step 0 is not measured.
        turn = (step - 1) // self._num_steps_each
        if step == 0:
            return self._candidates[0]
        if turn < len(self._candidates):
            return self._candidates[turn]
        if step == 1 + self._num_steps_each * len(self._candidates):
            self._decide()
        return self._chosen

    def _decide(self) -> None:
        seconds = measured(self._steps, [each.name for each in self._candidates], self._num_steps_each)
        choice = torch.tensor([min(range(len(seconds)), key=seconds.__getitem__)])
        with reaching_peers("hearing which algorithm rank 0 has chosen"):
            dist.broadcast(choice, dist.get_global_rank(self._group, 0), group=self._group)
        self._chosen = self._candidates[int(choice)]
        table = ", ".join(f"{each.name} {1000 * s:.1f} ms" for each, s in zip(self._candidates, seconds))
        self.decision = f"{self._chosen.name}, decided by rank 0 after measuring; this rank saw: {table}"


def measured(steps: Collection[StepStats], names: Sequence[str], num_steps_each: int) -> list[float]:
    """Return the median seconds per step of each candidate. The first step of each is a warm-up and not counted."""
    times = []
    for turn, name in enumerate(names):
        first = 1 + turn * num_steps_each
        counted = range(first + 1, first + num_steps_each)
        times.append(
            statistics.median(each.seconds for each in steps if each.step in counted and each.algorithm == name)
        )
    return times
