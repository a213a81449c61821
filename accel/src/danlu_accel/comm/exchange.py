"""The interface of algorithms, and the flat one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch.distributed as dist

from danlu_accel.comm.errors import CommError, PeerLostError
from danlu_accel.comm.pieces import Piece
from danlu_accel.comm.stats import StepCounter
from danlu_accel.comm.topology import Topology


class Exchange(ABC):
    """Averages pieces over all ranks, in stages, so that several pieces can be in progress at once.

    Every rank runs the same stages on the same pieces in the same order. A stage may wait for other ranks, but only
    for stages that come earlier in this order. `slot` identifies a piece in progress; it is reused only after the
    last stage of its piece.
    """

    name: str
    num_stages: int
    piece_bytes: int | None
    """Largest piece that the algorithm accepts; None: whole buckets."""

    @abstractmethod
    def run(self, stage: int, piece: Piece, slot: int, counter: StepCounter) -> None:
        """Run one stage. After the last stage every segment of the piece holds the average, or the sum."""

    @abstractmethod
    def give_up(self, reason: str) -> None:
        """Report a failure to ranks that wait for this one. Ranks that have ended are ignored."""


class Flat(Exchange):
    """The backend's own all-reduce, bucket by bucket: what DDP does without a hook."""

    name = "flat"
    num_stages = 2
    piece_bytes = None

    def __init__(self, topology: Topology, group: dist.ProcessGroup, timeout: timedelta) -> None:
        self._topology = topology
        self._group = group
        self._timeout = timeout
        self._works: dict[int, dist.Work] = {}

    def run(self, stage: int, piece: Piece, slot: int, counter: StepCounter) -> None:
        if stage == 0:
            self._begin(piece, slot, counter)
        else:
            wait(self._works.pop(slot), self._timeout, "the all-reduce over all ranks")

    def give_up(self, reason: str) -> None:
        """The backend notifies the other ranks when this process ends."""

    def _begin(self, piece: Piece, slot: int, counter: StepCounter) -> None:
        (segment,) = piece.segments
        if not segment.bucket.is_sum:
            segment.values.div_(self._topology.world_size)
        with reaching_peers("the all-reduce over all ranks"):
            work = dist.all_reduce(segment.values, group=self._group, async_op=True)
        assert work is not None
        self._works[slot] = work
        inside, between = ring_bytes(self._topology, piece.numel * segment.values.element_size())
        counter.bytes_inside += inside
        counter.bytes_between += between


def ring_bytes(topology: Topology, num_bytes: int) -> tuple[int, int]:
    """Return the bytes that this rank sends inside its host and to another one, if all ranks form one ring."""
    size = topology.world_size
    sent = 2 * (size - 1) * num_bytes // size
    is_inside = (topology.rank + 1) % size in topology.local_ranks
    return (sent, 0) if is_inside else (0, sent)


@contextmanager
def reaching_peers(what: str) -> Iterator[None]:
    """Context in which torch's errors become a PeerLostError that names the operation."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, CommError):
            raise
        raise PeerLostError(f"{what} failed: {_first_line(error)}") from error


def wait(work: dist.Work, timeout: timedelta, what: str) -> None:
    """Wait for a transfer; a failure becomes PeerLostError."""
    with reaching_peers(what):
        is_done = work.wait(timeout)
    if is_done is False:
        raise CommError(f"{what} was cancelled")


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0]
