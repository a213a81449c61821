"""Models that `fully_shard` cuts up, with replicas. Runs inside each rank: see rank_main."""

from __future__ import annotations

import os
import signal
from typing import Any

import torch
import torch.distributed as dist
from rank_tools import Net, batch, host_options
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from danlu_accel import comm


def replicas_against_native(
    shape: list[int], wire: str = "exact", algorithm: str = "2d", micro: int = 1
) -> dict[str, Any]:
    """Train twice from the same start: replicas averaged by `fully_shard` itself, and by ours."""
    mesh = _mesh(shape)
    finals, explained, algorithms, sent = [], "", [], 0
    for is_ours in (False, True):
        model = _sharded(mesh["shard"] if is_ours else mesh)
        exchange = None
        if is_ours:
            options = host_options(piece_bytes=4096)
            exchange = comm.attach_replicas(model, mesh["replicate"], algorithm=algorithm, wire=wire, options=options)
        _train(model, micro)
        finals.append(_whole(model))
        if exchange is not None:
            explained, sent = exchange.explain(), sum(each.bytes_between for each in exchange.stats())
            algorithms = sorted({each.algorithm for each in exchange.stats()[-3:]})
            exchange.close()
    native, own = finals
    prints: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(prints, own.numpy().tobytes().hex())
    return {
        "difference": float(((native - own).abs() / native.abs().clamp_min(1e-3)).max()),
        "moved": float((native - _whole(_sharded(mesh))).abs().max()),
        "bit_equal": len(set(prints)) == 1,
        "explain": explained,
        "algorithms": algorithms,
        "sent": sent,
    }


def replicas_wrong_use() -> dict[str, Any]:
    """Every mistake with the message it gets."""
    mesh = _mesh([2, 2])
    said: dict[str, str] = {}

    def expect(name: str, model: nn.Module, replicas: DeviceMesh) -> None:
        try:
            comm.attach_replicas(model, replicas, algorithm="2d", options=host_options())
        except (ValueError, TypeError, RuntimeError) as error:
            said[name] = f"{type(error).__name__}: {error}"

    expect("not sharded", Net(), mesh["replicate"])
    expect("whole mesh", _sharded(mesh), mesh["replicate"])
    fresh = _sharded(mesh["shard"])
    expect("two dimensions", fresh, mesh)
    expect("first", fresh, mesh["replicate"])
    expect("twice", fresh, mesh["replicate"])
    return said


def replicas_lost_rank() -> dict[str, Any]:
    """Rank 2 is killed before its second step; its replica on the other host hears of it."""
    mesh = _mesh([2, 2])
    model = _sharded(mesh["shard"])
    comm.attach_replicas(model, mesh["replicate"], algorithm="2d", options=host_options())
    _train(model, 1, steps=1)
    if dist.get_rank() == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        _train(model, 1, steps=1)
    except RuntimeError as error:
        return {"raised": type(error).__name__}
    return {"raised": None}


def _mesh(shape: list[int]) -> DeviceMesh:
    return init_device_mesh("cpu", tuple(shape), mesh_dim_names=("replicate", "shard"))


def _sharded(mesh: DeviceMesh) -> nn.Module:
    torch.manual_seed(0)
    model = Net()
    for layer in model.layers:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def _train(model: Any, micro: int, steps: int = 3) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(micro):
            model.set_requires_gradient_sync(part == micro - 1)
            model(batch(step * micro + part, dist.get_rank())).square().mean().backward()
        optimizer.step()


def _whole(model: nn.Module) -> torch.Tensor:
    found = [one.full_tensor() if isinstance(one, DTensor) else one for one in model.parameters()]
    return torch.cat([one.detach().flatten() for one in found])
