"""The hierarchical exchange: sum inside each host, exchange shards between hosts, distribute the result inside.

Path of each piece (two hosts of two ranks, two lanes):

    rank 0 ─┐ copy      lane 0 adds its half ── swap with lane 0 of the other host ─┐      ┌─ copy ─ rank 0
            ├─► shared                                                              ├─► shared
    rank 1 ─┘ memory    lane 1 adds its half ── swap with lane 1 of the other host ─┘      └─ copy ─ rank 1

With as many lanes as the smallest host has ranks, this is `2d`; with one lane it is `leader`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from danlu_accel.comm.exchange import Exchange
from danlu_accel.comm.formats import format_for
from danlu_accel.comm.hop import Crossing, Lane, Residuals, hop_for, split
from danlu_accel.comm.pieces import Piece
from danlu_accel.comm.settings import Options, WireFormat
from danlu_accel.comm.shared import LocalGroup
from danlu_accel.comm.stats import StepCounter
from danlu_accel.comm.topology import Topology


class Arena:
    """Shared memory in `depth` slots. Each has a row per rank of the host for its gradients, and one for the result."""

    def __init__(self, memory: Tensor, depth: int, num_ranks: int, piece_bytes: int) -> None:
        self._rows = memory.view(depth, num_ranks + 1, piece_bytes)

    @staticmethod
    def num_bytes(depth: int, num_ranks: int, piece_bytes: int) -> int:
        return depth * (num_ranks + 1) * piece_bytes

    def gradients(self, slot: int, dtype: torch.dtype, numel: int) -> Tensor:
        """One row per rank of this host."""
        return self._rows[slot, :-1].view(dtype)[:, :numel]

    def result(self, slot: int, dtype: torch.dtype, numel: int) -> Tensor:
        return self._rows[slot, -1].view(dtype)[:numel]


class LaneExchange(Exchange):
    """`2d` and `leader`, which differ only in the number of lanes."""

    def __init__(
        self, name: str, topology: Topology, *, lanes: list[Lane], inside: LocalGroup, arena: Arena, options: Options
    ) -> None:
        self.name = name
        self.piece_bytes = options.piece_bytes
        self.wire: WireFormat = "exact"
        self._topology = topology
        self._local = inside
        self._arena = arena
        self._num_lanes = len(lanes)
        self._lane_index = topology.local_index if topology.local_index < len(lanes) else None
        self._hop = hop_for(lanes[self._lane_index or 0])
        self.num_stages = self._hop.num_stages
        self._crossings: dict[int, Crossing] = {}
        self._residuals: dict[object, Residuals] = {}
        self._layout: dict[int, tuple[int, ...]] = {}

    def run(self, stage: int, piece: Piece, slot: int, counter: StepCounter) -> None:
        if stage == 0:
            self._gather_inside(piece, slot, counter)
            shard = self._add_up(piece, slot)
            if shard is not None:
                wire = format_for(self.wire, piece.dtype)
                self._crossings[slot] = Crossing(wire, slot, shard, self._residuals_of(piece))
        crossing = self._crossings.get(slot)
        if crossing is not None:
            self._hop.run(stage, crossing, counter)
        if stage == self.num_stages - 1:
            self._crossings.pop(slot, None)
            self._spread_inside(piece, slot, counter)

    def give_up(self, reason: str) -> None:
        self._local.give_up(reason)

    def _gather_inside(self, piece: Piece, slot: int, counter: StepCounter) -> None:
        mine = self._arena.gradients(slot, piece.dtype, piece.numel)[self._topology.local_index]
        start = 0
        for segment in piece.segments:
            stop = start + segment.values.numel()
            if segment.bucket.is_sum:
                mine[start:stop].copy_(segment.values)
            else:
                torch.div(segment.values, self._topology.world_size, out=mine[start:stop])
            start = stop
        counter.bytes_inside += mine.numel() * mine.element_size()
        self._local.barrier()

    def _add_up(self, piece: Piece, slot: int) -> Tensor | None:
        """Write the sum of this lane's shard to the result row and return it; None if this rank has no lane."""
        if self._lane_index is None:
            return None
        start, stop = split(piece.numel, self._num_lanes, self._lane_index)
        if start == stop:
            return None
        rows = self._arena.gradients(slot, piece.dtype, piece.numel)[:, start:stop]
        shard = self._arena.result(slot, piece.dtype, piece.numel)[start:stop]
        if len(rows) == 1:
            return shard.copy_(rows[0])
        torch.add(rows[0], rows[1], out=shard)
        for row in rows[2:]:
            shard.add_(row)
        return shard

    def _spread_inside(self, piece: Piece, slot: int, counter: StepCounter) -> None:
        self._local.barrier()
        result = self._arena.result(slot, piece.dtype, piece.numel)
        start = 0
        for segment in piece.segments:
            stop = start + segment.values.numel()
            segment.values.copy_(result[start:stop])
            start = stop
        counter.bytes_inside += result.numel() * result.element_size()

    def _residuals_of(self, piece: Piece) -> Residuals:
        for segment in piece.segments:
            bucket = segment.bucket
            if self._layout.setdefault(bucket.index, bucket.parameters) != bucket.parameters:
                # DDP has rebuilt its buckets: the same key now stands for other gradients.
                self._layout = {bucket.index: bucket.parameters}
                self._residuals.clear()
        return self._residuals.setdefault(piece.key, Residuals())
