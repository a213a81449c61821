"""The same exchange for GPUs, with NCCL's own collectives on side streams.

Its arithmetic is tested with gloo on CPUs; it has not been run on GPUs. NCCL's tree already sends no more than this
between two hosts: compare with it before you expect a gain.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import GradBucket
from torch.futures import Future

from danlu_accel.comm.attachment import Engine
from danlu_accel.comm.settings import WireFormat

WIRE_TYPES: dict[WireFormat, torch.dtype | None] = {
    "exact": None,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}


class NcclEngine(Engine):
    """One side stream and one pair of groups per stream; buckets take turns."""

    def __init__(self, groups: list[tuple[dist.ProcessGroup, dist.ProcessGroup]], wire: WireFormat) -> None:
        if wire not in WIRE_TYPES:
            raise ValueError(f"wire {wire!r} works on CPUs only; on GPUs: {', '.join(WIRE_TYPES)}")
        self._groups = groups
        self._wire = WIRE_TYPES[wire]
        self._streams = [torch.cuda.Stream() for _ in groups]  # type: ignore[no-untyped-call]

    def exchange(self, bucket: GradBucket) -> Future[Tensor]:
        turn = bucket.index() % len(self._groups)
        local, lane = self._groups[turn]
        stream = self._streams[turn]
        stream.wait_stream(torch.cuda.current_stream())
        promise: Future[Tensor] = Future(devices=[bucket.buffer().device])
        with torch.cuda.stream(stream):
            average_2d(bucket.buffer(), local, lane, self._wire)
            promise.set_result(bucket.buffer())  # remembers the stream: whoever waits, waits for its work
        return promise

    def close(self) -> None:
        """The process group ends with the training script's own call."""


def average_2d(
    buffer: Tensor, local: dist.ProcessGroup, lane: dist.ProcessGroup, wire: torch.dtype | None = None
) -> None:
    """Average `buffer` in place: reduce-scatter inside the host, all-reduce of shards between, all-gather inside."""
    num_local = dist.get_world_size(local)
    shard_numel = -(-buffer.numel() // num_local)
    padded = buffer.new_zeros(shard_numel * num_local)
    torch.div(buffer, num_local * dist.get_world_size(lane), out=padded[: buffer.numel()])
    shard = buffer.new_empty(shard_numel)
    _collective("reduce_scatter_single", "reduce_scatter_tensor")(shard, padded, group=local)
    if wire is None:
        dist.all_reduce(shard, group=lane)
    else:
        narrow = shard.to(wire)
        dist.all_reduce(narrow, group=lane)
        shard.copy_(narrow)
    _collective("all_gather_single", "all_gather_into_tensor")(padded, shard, group=local)
    buffer.copy_(padded[: buffer.numel()])


def _collective(name: str, older_name: str) -> Callable[..., object]:
    """Return a collective by the name it has since torch 2.13, which warns about the older one."""
    found: Callable[..., object] = getattr(dist, name, None) or getattr(dist, older_name)
    return found
