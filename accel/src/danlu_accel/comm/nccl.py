"""The hierarchical exchange for GPUs, with NCCL collectives on side streams.

Order, streams, shapes and arithmetic are tested on CPUs with a fake device and backend; it has not been run on
GPUs. NCCL's tree already sends no more bytes than this between two hosts: compare with it before you expect a gain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import GradBucket
from torch.futures import Future

from danlu_accel.comm.attachment import Engine
from danlu_accel.comm.errors import CommError
from danlu_accel.comm.settings import Settings, WireFormat
from danlu_accel.comm.topology import Topology

WIRE_TYPES: dict[WireFormat, torch.dtype | None] = {
    "exact": None,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}


NewGroup = Callable[[Sequence[int]], dist.ProcessGroup]
"""Creates a group of these global ranks. Every rank creates every group, in the same order."""


class Device(Protocol):
    """The accelerator as the engine uses it."""

    def new_stream(self) -> Any: ...

    def current_stream(self) -> Any: ...

    def use(self, stream: Any) -> AbstractContextManager[Any]: ...

    def new_future(self, like: Tensor) -> Future[Tensor]:
        """Return a future that records the stream it is set on; waiting for it waits for that stream."""


class Cuda:
    """A GPU."""

    def new_stream(self) -> Any:
        return torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def current_stream(self) -> Any:
        return torch.cuda.current_stream()

    def use(self, stream: Any) -> AbstractContextManager[Any]:
        return torch.cuda.stream(stream)

    def new_future(self, like: Tensor) -> Future[Tensor]:
        return Future(devices=[like.device])


class NcclEngine(Engine):
    """One side stream and one pair of groups per stream; buckets use them in rotation."""

    def __init__(
        self, groups: list[tuple[dist.ProcessGroup, dist.ProcessGroup]], wire: WireFormat, device: Device
    ) -> None:
        self._groups = groups
        self._wire = WIRE_TYPES[wire]
        self._device = device
        self._streams = [device.new_stream() for _ in groups]

    def exchange(self, bucket: GradBucket) -> Future[Tensor]:
        turn = bucket.index() % len(self._groups)
        local, lane = self._groups[turn]
        stream = self._streams[turn]
        stream.wait_stream(self._device.current_stream())
        promise = self._device.new_future(bucket.buffer())
        with self._device.use(stream):
            average_2d(bucket.buffer(), local, lane, self._wire)
            promise.set_result(bucket.buffer())
        return promise

    def close(self) -> None:
        """Does nothing: the training script destroys the process group."""


def open_engine(
    settings: Settings, topology: Topology, global_ranks: Sequence[int], *, new_group: NewGroup, device: Device
) -> NcclEngine:
    """Create the groups that NCCL needs. Invalid settings raise on every rank, before the first one is created."""
    if not topology.is_even or settings.algorithm in ("leader", "flat"):
        raise CommError("on GPUs only '2d' with as many ranks on every host is there; without a hook DDP is flat")
    if settings.wire not in WIRE_TYPES:
        raise ValueError(f"wire {settings.wire!r} works on CPUs only; on GPUs: {', '.join(WIRE_TYPES)}")
    members = sorted(global_ranks)
    hosts = [[members[rank] for rank in host] for host in topology.hosts]
    lanes = [list(lane) for lane in zip(*hosts)]
    pairs = []
    for _ in range(settings.num_streams):
        local = [new_group(ranks) for ranks in hosts][topology.host_index]
        lane = [new_group(ranks) for ranks in lanes][topology.local_index]
        pairs.append((local, lane))
    return NcclEngine(pairs, settings.wire, device)


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
    """Return a collective by its current name, or by the older one, about which torch 2.13 and later warn."""
    found: Callable[..., object] = getattr(dist, name, None) or getattr(dist, older_name)
    return found
