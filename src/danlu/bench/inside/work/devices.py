"""The PyTorch device of a rank, and its process group."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING

from danlu.bench.inside.place import Place

if TYPE_CHECKING:
    import torch

BACKENDS = {"cuda": "nccl", "npu": "hccl", "cpu": "gloo"}


def device_of(place: Place) -> torch.device:
    import torch

    kind = os.environ.get("DANLU_DEVICE_TYPE", "cpu")
    if kind == "gpu" and torch.cuda.is_available():
        return torch.device("cuda", place.local_rank)
    if kind == "npu" and find_spec("torch_npu") is not None:
        return torch.device("npu", place.local_rank)
    return torch.device("cpu")


def wait_for(device: torch.device) -> None:
    """Wait until all work that was started on the device is done."""
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "npu":
        getattr(torch, "npu").synchronize()  # noqa: B009  torch_npu adds it


@contextmanager
def group_of(place: Place, device: torch.device, *, timeout_seconds: float) -> Iterator[None]:
    """The process group that this process trains in. A lost peer raises an error after the timeout."""
    import torch.distributed as dist

    dist.init_process_group(
        BACKENDS[device.type],
        rank=place.group_rank,
        world_size=place.group_size,
        timeout=timedelta(seconds=timeout_seconds),
    )
    try:
        yield
        if dist.get_backend() == "gloo":
            dist.barrier()  # gloo may abort a rank that leaves while another is still at work
    finally:
        dist.destroy_process_group()
