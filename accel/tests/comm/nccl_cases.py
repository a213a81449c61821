"""The exchange for GPUs, on a GPU and an NCCL that are fakes. Runs inside each rank: see rank_main."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from fake_nccl import BACKEND, FakeNccl, Gpu, Promise, Watch, install
from rank_tools import SMALL, Net, fingerprint, train
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817

from danlu_accel import comm
from danlu_accel.comm.nccl import NcclEngine, open_engine
from danlu_accel.comm.topology import RankReport, build_topology


def on_fake_nccl(wire: str = "exact", num_streams: int = 1, forgets_to_wait: bool = False) -> dict[str, Any]:
    """Train twice from the same start: with plain DDP, and with the engine for GPUs."""
    gpu = Gpu(forgets_to_wait=forgets_to_wait)
    install(gpu)
    engine, made = _open(comm.Settings("2d", wire, num_streams), gpu)
    finals, buckets = [], []
    for is_ours in (False, True):
        torch.manual_seed(0)
        ddp = DDP(Net(), **SMALL)
        if is_ours:
            ddp.register_comm_hook(None, _watched(engine, gpu, buckets))
        finals.append(train(ddp))
    prints: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(prints, fingerprint(ddp))
    return {
        "difference": float(((finals[0] - finals[1]).abs() / finals[0].abs().clamp_min(1e-3)).max()),
        "largest_difference": float((finals[0] - finals[1]).abs().max()),
        "bit_equal": len(set(prints)) == 1,
        "races": gpu.races,
        "log": FakeNccl.log,
        "made": made,
        "buckets": buckets,
    }


def refused_by_nccl() -> dict[str, Any]:
    """What there is no exchange for on GPUs, with the message it gets; no group is made for it."""
    said = {}
    for name, settings in {
        "leader": comm.Settings("leader"),
        "int8": comm.Settings("2d", "int8"),
        "hosts": comm.Settings("2d"),
    }.items():
        gpu = Gpu()
        try:
            _open(settings, gpu, hosts="aab" if name == "hosts" else None)
        except (ValueError, RuntimeError) as error:
            said[name] = f"{type(error).__name__}: {error}"
    return said


def _open(settings: comm.Settings, gpu: Gpu, hosts: str | None = None) -> tuple[NcclEngine, list[list[int]]]:
    keys: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(keys, os.environ["TEST_HOST_KEY"])
    reports = [RankReport(key, None, "", "") for key in hosts or keys]
    topology = build_topology(reports, min(dist.get_rank(), len(reports) - 1), None)
    made: list[list[int]] = []

    def new_group(ranks: Sequence[int]) -> Any:
        made.append(list(ranks))
        return dist.new_group(list(ranks), backend=BACKEND)

    engine = open_engine(settings, topology, range(len(reports)), new_group=new_group, device=gpu)
    return engine, made


def _watched(engine: NcclEngine, gpu: Gpu, buckets: list[tuple[int, int]]) -> Any:
    """Do what a GPU does around the hook: backward has written the bucket before, and DDP reads it afterwards.

    DDP compares the annotations themselves, which are text in this file, so its hook has none.
    """

    def hook(_state, bucket):  # type: ignore[no-untyped-def]
        buckets.append((bucket.index(), bucket.buffer().numel()))
        gpu.touch(bucket.buffer(), writes=True, what="backward")
        with Watch(gpu):
            future = engine.exchange(bucket)
        assert isinstance(future, Promise)
        gpu.main.wait_stream(future.made_on)
        gpu.touch(bucket.buffer(), writes=False, what="DDP")
        return future

    return hook
