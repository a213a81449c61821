"""What ranks do in tests. Runs inside each rank: see rank_main."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from rank_tools import SMALL, Net, batch, fingerprint, host_options, train
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817

from danlu_accel import comm


def against_native(
    build: Callable[[], nn.Module],
    ddp_kwargs: dict[str, Any],
    train_kwargs: dict[str, Any],
    attach_kwargs: dict[str, Any],
) -> dict[str, Any]:
    """Train twice from the same start, with plain DDP and with ours, and compare."""
    results = []
    attachment = None
    for ours in (False, True):
        torch.manual_seed(0)
        ddp = DDP(build(), **ddp_kwargs)
        if ours:
            attachment = comm.attach(ddp, options=host_options(piece_bytes=4096), **attach_kwargs)
        results.append(train(ddp, **train_kwargs))
        prints = [None] * dist.get_world_size()
        dist.all_gather_object(prints, fingerprint(ddp))
    native, own = results
    assert attachment is not None
    answer = {
        "difference": float(((native - own).abs() / native.abs().clamp_min(1e-3)).max()),
        "bit_equal": len(set(prints)) == 1,
        "explain": attachment.explain(),
        "algorithms": sorted({each.algorithm for each in attachment.stats()}),
        "steps": len(attachment.stats()),
    }
    attachment.close()
    return answer


def sometimes(step: int, rank: int) -> bool:
    return (step + rank) % 2 == 0


VARIANTS: dict[str, tuple[Callable[[], nn.Module], dict[str, Any], dict[str, Any]]] = {
    "plain": (Net, {}, {}),
    "many_buckets": (Net, SMALL, {}),
    "bucket_view": (Net, {**SMALL, "gradient_as_bucket_view": True}, {}),
    "no_sync": (Net, SMALL, {"micro": 3}),
    "static_graph": (Net, {**SMALL, "static_graph": True}, {}),
    "find_unused": (
        lambda: Net(unused=True),
        {**SMALL, "find_unused_parameters": True, "gradient_as_bucket_view": True},
        {"use_all": sometimes},
    ),
    "compiled": (lambda: torch.compile(Net().layers, backend="aot_eager"), {}, {}),
    "inductor": (lambda: torch.compile(Net().layers), {}, {}),
}


def exactness(algorithms: list[str], variants: list[str], num_streams: int = 1) -> dict[str, Any]:
    return {
        f"{algorithm}/{variant}": against_native(
            *VARIANTS[variant], {"algorithm": algorithm, "num_streams": num_streams}
        )
        for algorithm in algorithms
        for variant in variants
    }


def endurance(steps: int) -> dict[str, Any]:
    """Train for long, attach and close again and again; count what stays open."""
    torch.manual_seed(0)
    native = train(DDP(Net(), **SMALL), steps=steps)
    torch.manual_seed(0)
    ddp = DDP(Net(), **SMALL)
    attachment = comm.attach(ddp, algorithm="2d", options=host_options())
    descriptors = [len(os.listdir("/proc/self/fd"))]
    ours = train(ddp, steps=steps)
    descriptors.append(len(os.listdir("/proc/self/fd")))
    attachment.close()
    return {"descriptors": descriptors, "difference": float((native - ours).abs().max())}


def two_models() -> dict[str, Any]:
    """Two models of one process, each with its own exchange, trained in turns."""
    finals = []
    for ours in (False, True):
        torch.manual_seed(0)
        models = [DDP(Net(), **SMALL), DDP(nn.Linear(13, 7))]
        if ours:
            attachments = [comm.attach(model, algorithm="2d", options=host_options()) for model in models]
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
        for step in range(3):
            losses = [model(batch(step, dist.get_rank())).square().mean() for model in models]
            for loss, optimizer in zip(losses, optimizers):
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
        finals.append(torch.cat([nn.utils.parameters_to_vector(model.parameters()).detach() for model in models]))
    return {"difference": float((finals[0] - finals[1]).abs().max()), "steps": [len(a.stats()) for a in attachments]}


def sparse_and_double() -> dict[str, Any]:
    """Sparse gradients take the plain way; float64 ones travel as they are."""

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(11, 5, sparse=True)
            self.linear = nn.Linear(5, 3).double()

        def forward(self, index: Tensor) -> Tensor:
            y: Tensor = self.linear(self.table(index).double())
            return y

    finals = []
    for ours in (False, True):
        torch.manual_seed(0)
        ddp = DDP(Mixed())
        if ours:
            comm.attach(ddp, algorithm="2d", options=host_options())
        optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            ddp(torch.tensor([step, dist.get_rank(), 7])).square().mean().backward()
            optimizer.step()
        finals.append(torch.cat([p.detach().double().flatten() for p in ddp.parameters()]))
    return {"difference": float((finals[0] - finals[1]).abs().max())}


def uneven_inputs() -> dict[str, Any]:
    """DDP's join(): ranks that run out of data take part with zeros."""
    finals = []
    for ours in (False, True):
        torch.manual_seed(0)
        ddp = DDP(Net(), **SMALL)
        if ours:
            comm.attach(ddp, algorithm="2d", options=host_options())
        optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
        with ddp.join():
            for step in range(2 + dist.get_rank()):
                optimizer.zero_grad()
                ddp(batch(step, dist.get_rank())).square().mean().backward()
                optimizer.step()
        finals.append(nn.utils.parameters_to_vector(ddp.parameters()).detach())
    return {"difference": float((finals[0] - finals[1]).abs().max())}


def part_of_the_job() -> dict[str, Any]:
    """A model that only some ranks train: its process group is not everyone's."""
    half = dist.new_group([0, 1]), dist.new_group([2, 3])
    mine = half[dist.get_rank() // 2]
    ddp = DDP(nn.Linear(13, 3), process_group=mine)
    attachment = comm.attach(ddp, algorithm="2d", options=host_options())
    ddp(torch.full((1, 13), float(dist.get_rank() + 1))).sum().backward()
    grad = ddp.module.weight.grad
    assert grad is not None
    return {"hosts": attachment.topology.hosts, "gradient": float(grad[0, 0])}


def lossy(wires: list[str], steps: int) -> dict[str, Any]:
    return {wire: lossy_wire(wire, steps) for wire in wires}


def lossy_wire(wire: str, steps: int) -> dict[str, Any]:
    """The same gradient again and again: what one step rounds away, the next ones must make up for."""
    torch.manual_seed(0)
    ddp = DDP(nn.Linear(700, 90, bias=False), gradient_as_bucket_view=True)
    attachment = comm.attach(ddp, algorithm="2d", wire=wire, options=host_options())
    inputs = torch.randn(4, 700, generator=torch.Generator().manual_seed(dist.get_rank()))
    exact = torch.stack([inputs.mean(0)] * 90)
    dist.all_reduce(exact)
    exact.div_(dist.get_world_size())
    total = torch.zeros_like(exact)
    errors = []
    for _ in range(steps):
        ddp.zero_grad()
        (ddp(inputs).sum() / 4).backward()
        total += ddp.module.weight.grad
        errors.append(float((ddp.module.weight.grad - exact).abs().max() / exact.abs().max()))
    prints = [None] * dist.get_world_size()
    dist.all_gather_object(prints, hashlib.sha256(total.numpy().tobytes()).hexdigest())
    return {
        "bit_equal": len(set(prints)) == 1,
        "first_error": errors[0],
        "last_error": errors[-1],
        "mean_error": float((total / steps - exact).abs().max() / exact.abs().max()),
        "bytes_between": attachment.stats()[-1].bytes_between,
        "gradient_bytes": attachment.stats()[-1].gradient_bytes,
    }


def non_finite(wires: list[str]) -> dict[str, Any]:
    return {wire: non_finite_wire(wire) for wire in wires}


def non_finite_wire(wire: str) -> list[bool]:
    """One rank's gradient overflows once: every rank must see it, and the step after must be clean."""
    ddp = DDP(nn.Linear(600, 2, bias=False))
    comm.attach(ddp, algorithm="2d", wire=wire, options=host_options())
    finite = []
    for step in range(3):
        ddp.zero_grad()
        inputs = torch.ones(1, 600)
        if step == 1 and dist.get_rank() == 0:
            inputs[0, 3] = float("inf")
        ddp(inputs).sum().backward()
        finite.append(bool(torch.isfinite(ddp.module.weight.grad).all()))
    return finite


def automatic(wire: str = "exact") -> dict[str, Any]:
    """Train until `auto` has decided."""
    torch.manual_seed(0)
    ddp = DDP(Net(), **SMALL)
    attachment = comm.attach(ddp, wire=wire, options=host_options(auto_steps=2))
    train(ddp, steps=12)
    algorithms = [each.algorithm for each in attachment.stats()]
    return {"algorithms": algorithms, "explain": attachment.explain(), "print": fingerprint(ddp)}


def counted() -> dict[str, Any]:
    """One step of a model of known size."""
    ddp = DDP(nn.Linear(1024, 256, bias=False))  # 1 MiB
    attachment = comm.attach(ddp, algorithm="2d", options=host_options())
    for _ in range(2):
        ddp(torch.ones(1, 1024)).sum().backward()
    last = attachment.stats()[-1]
    return {name: getattr(last, name) for name in last.__dataclass_fields__}


def nccl_arithmetic() -> dict[str, Any]:
    """The GPU path's collectives, run by gloo."""
    from danlu_accel.comm.nccl import average_2d

    local = [dist.new_group([0, 1]), dist.new_group([2, 3])][dist.get_rank() // 2]
    lane = [dist.new_group([0, 2]), dist.new_group([1, 3])][dist.get_rank() % 2]
    values = torch.arange(7.0) * (dist.get_rank() + 1)
    average_2d(values, local, lane)
    narrow = torch.arange(7.0) * (dist.get_rank() + 1)
    average_2d(narrow, local, lane, torch.bfloat16)
    return {"values": values.tolist(), "narrow": narrow.tolist()}
