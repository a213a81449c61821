"""The exchange between hosts: a lane, which is one rank per host, sums its shards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from danlu_accel.comm.exchange import reaching_peers, wait
from danlu_accel.comm.formats import Format
from danlu_accel.comm.stats import StepCounter


@dataclass(frozen=True)
class Lane:
    """The ranks, one per host, that exchange one shard; `position` is the index of this rank among them."""

    ranks: tuple[int, ...]
    position: int
    groups: tuple[dist.ProcessGroup, ...]
    """One per stream, each with its own connections."""
    timeout: timedelta

    @property
    def others(self) -> list[int]:
        return [place for place in range(len(self.ranks)) if place != self.position]

    def send(self, values: Tensor, place: int, slot: int, phase: int) -> Transfer:
        what = f"sending gradients to rank {self.ranks[place]}"
        with reaching_peers(what):
            return Transfer(self._group(slot).send([values], self.ranks[place], _tag(slot, phase)), what, self.timeout)

    def receive(self, values: Tensor, place: int, slot: int, phase: int) -> Transfer:
        what = f"receiving gradients from rank {self.ranks[place]}"
        with reaching_peers(what):
            return Transfer(self._group(slot).recv([values], self.ranks[place], _tag(slot, phase)), what, self.timeout)

    def _group(self, slot: int) -> dist.ProcessGroup:
        return self.groups[slot % len(self.groups)]


@dataclass(frozen=True)
class Transfer:
    """A message in progress."""

    work: dist.Work
    what: str
    timeout: timedelta

    def wait(self) -> None:
        wait(self.work, self.timeout, self.what)


@dataclass
class Crossing:
    """A shard that is exchanged between hosts."""

    format: Format
    slot: int
    shard: Tensor
    residuals: Residuals
    sending: list[Transfer] = field(default_factory=list)
    receiving: dict[int, Transfer] = field(default_factory=dict)
    arrived: dict[int, Tensor] = field(default_factory=dict)
    keep: list[Tensor] = field(default_factory=list)
    """Packed numbers that must not change until they are sent."""

    def pack(self, values: Tensor, part: int) -> Tensor:
        size, dtype = self.format.packed(values.numel(), values.dtype)
        out = values if dtype == values.dtype else torch.empty(size, dtype=dtype)
        residual = self.residuals.of(part, values) if self.format.feeds_error_back else None
        packed = self.format.pack(values, out, residual)
        self.keep.append(packed)
        return packed

    def room_for(self, values: Tensor) -> Tensor:
        size, dtype = self.format.packed(values.numel(), values.dtype)
        return torch.empty(size, dtype=dtype)


class Residuals:
    """Rounding errors, by part of a piece; added to the same gradients in the next step."""

    def __init__(self) -> None:
        self._parts: dict[int, Tensor] = {}

    def of(self, part: int, values: Tensor) -> Tensor:
        known = self._parts.get(part)
        if known is None or known.numel() != values.numel():
            known = self._parts[part] = torch.zeros(values.numel(), dtype=torch.float32)
        return known


class Hop(ABC):
    """Sums a shard over hosts in `num_stages` stages. The first stage does not wait for other hosts."""

    num_stages: int

    @abstractmethod
    def run(self, stage: int, crossing: Crossing, counter: StepCounter) -> None:
        """Run one stage. After the last stage the shard holds the sum, bit-equal on every host."""


class NoHop(Hop):
    """A single host: the shard already holds the sum."""

    num_stages = 2

    def run(self, stage: int, crossing: Crossing, counter: StepCounter) -> None:
        """Nothing to do."""


class PairHop(Hop):
    """Two hosts swap whole shards: as many bytes as a ring of two, but in one phase."""

    num_stages = 2

    def __init__(self, lane: Lane) -> None:
        self._lane = lane

    def run(self, stage: int, crossing: Crossing, counter: StepCounter) -> None:
        (other,) = self._lane.others
        if stage == 0:
            arrived = crossing.arrived[other] = crossing.room_for(crossing.shard)
            crossing.receiving[other] = self._lane.receive(arrived, other, crossing.slot, 0)
            packed = crossing.pack(crossing.shard, 0)
            crossing.sending.append(self._lane.send(packed, other, crossing.slot, 0))
            counter.bytes_between += packed.numel() * packed.element_size()
            return
        crossing.receiving[other].wait()
        for sent in crossing.sending:
            sent.wait()
        # The sum of two numbers does not depend on their order, so both hosts get the same bits.
        crossing.format.add(crossing.arrived[other], crossing.shard)


class ScatterHop(Hop):
    """Three or more hosts: each sums its part of the shard and sends the result to the others."""

    num_stages = 3

    def __init__(self, lane: Lane) -> None:
        self._lane = lane

    def run(self, stage: int, crossing: Crossing, counter: StepCounter) -> None:
        (self._scatter, self._sum, self._gather)[stage](crossing, counter)

    def _scatter(self, crossing: Crossing, counter: StepCounter) -> None:
        mine = self._part(crossing.shard, self._lane.position)
        for place in self._lane.others:
            if mine.numel():
                crossing.arrived[place] = crossing.room_for(mine)
                crossing.receiving[place] = self._lane.receive(crossing.arrived[place], place, crossing.slot, 0)
        for place in self._lane.others:
            self._send(crossing, place, place, 0, counter)

    def _sum(self, crossing: Crossing, counter: StepCounter) -> None:
        self._settle(crossing)
        mine = self._part(crossing.shard, self._lane.position)
        for packed in crossing.arrived.values():
            crossing.format.add(packed, mine)
        crossing.arrived.clear()
        for place in self._lane.others:
            theirs = self._part(crossing.shard, place)
            if theirs.numel():
                crossing.arrived[place] = crossing.room_for(theirs)
                crossing.receiving[place] = self._lane.receive(crossing.arrived[place], place, crossing.slot, 1)
        if mine.numel():
            packed = crossing.pack(mine, -1)
            for place in self._lane.others:
                crossing.sending.append(self._lane.send(packed, place, crossing.slot, 1))
                counter.bytes_between += packed.numel() * packed.element_size()

    def _gather(self, crossing: Crossing, counter: StepCounter) -> None:  # noqa: ARG002
        self._settle(crossing)
        for place, packed in crossing.arrived.items():
            crossing.format.restore(packed, self._part(crossing.shard, place))

    def _send(self, crossing: Crossing, part: int, place: int, phase: int, counter: StepCounter) -> None:
        values = self._part(crossing.shard, part)
        if not values.numel():
            return
        packed = crossing.pack(values, part)
        crossing.sending.append(self._lane.send(packed, place, crossing.slot, phase))
        counter.bytes_between += packed.numel() * packed.element_size()

    def _settle(self, crossing: Crossing) -> None:
        for transfer in [*crossing.receiving.values(), *crossing.sending]:
            transfer.wait()
        crossing.receiving.clear()
        crossing.sending.clear()
        crossing.keep.clear()

    def _part(self, shard: Tensor, place: int) -> Tensor:
        start, stop = split(shard.numel(), len(self._lane.ranks), place)
        return shard[start:stop]


def hop_for(lane: Lane) -> Hop:
    """Return the hop with the fewest stages for this many hosts."""
    if len(lane.ranks) == 1:
        return NoHop()
    return PairHop(lane) if len(lane.ranks) == 2 else ScatterHop(lane)


def split(numel: int, num_parts: int, index: int) -> tuple[int, int]:
    """Return start and end of part `index`. The parts cover everything; the last ones may be empty."""
    size = -(-numel // num_parts)
    return min(index * size, numel), min((index + 1) * size, numel)


def _tag(slot: int, phase: int) -> int:
    return slot * 2 + phase
