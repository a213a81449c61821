"""Whole training steps, plain DDP against ours, with the batch size at which plain DDP has a given efficiency."""

from __future__ import annotations

import contextlib
import statistics
import time
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817

from comm_lab.torch_hooks import register
from danlu_accel import comm

WIDTH = 512
NUM_LAYERS = 16  # 1 MiB of gradients each
BUCKET_MIB = 2
FIRST_BATCH = 640
TOLERANCE = 0.03  # accepted distance from the requested share
MOST_ATTEMPTS = 2


class Trainee:
    """One model with its optimizer; `step` trains it on a batch."""

    def __init__(self, settings: dict[str, Any] | str | None, bucket_mib: int = BUCKET_MIB) -> None:
        """`settings`: those of our exchange, the name of a hook of torch, or None for plain DDP."""
        torch.manual_seed(0)
        layers: list[nn.Module] = []
        for _ in range(NUM_LAYERS):
            layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
        self.ddp = DDP(nn.Sequential(*layers), bucket_cap_mb=bucket_mib, gradient_as_bucket_view=True)
        self.attachment = attach(self.ddp, settings) if isinstance(settings, dict) else None
        if isinstance(settings, str):
            register(self.ddp, settings)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=1e-3)

    def step(self, batch: torch.Tensor, exchange: bool = True) -> float:
        """Train once and return the seconds of the slowest rank."""
        dist.barrier()
        started = time.perf_counter()
        with contextlib.nullcontext() if exchange else self.ddp.no_sync():
            self.ddp(batch).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        slowest = torch.tensor([time.perf_counter() - started])
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        return float(slowest)


def attach(ddp: DDP, settings: dict[str, Any]) -> comm.Attachment:
    return comm.attach(ddp, **{**settings, "options": comm.Options(**settings.get("options", {}))})


def measure_steps(modes: dict[str, dict[str, Any]], rounds: int, efficiency: float) -> dict[str, Any]:
    """Return median seconds per step for every mode, for plain DDP, and for the same step without exchange."""
    native = Trainee(None)
    trainees = {"native": native, **{name: Trainee(settings) for name, settings in modes.items()}}
    for trainee in trainees.values():
        for _ in range(3):  # DDP rebuilds its buckets in the first steps
            trainee.step(torch.randn(8, WIDTH))
    size = FIRST_BATCH
    for _ in range(MOST_ATTEMPTS):
        size = find_batch(native, efficiency, size)
        seconds = measure_round_robin(native, trainees, torch.randn(size, WIDTH), rounds)
        if abs(seconds["compute"] / seconds["native"] - efficiency) <= TOLERANCE:
            break
    exposed = {
        name: statistics.median(each.exposed_seconds for each in trainee.attachment.stats()[-rounds:])
        for name, trainee in trainees.items()
        if trainee.attachment is not None
    }
    return {"seconds": seconds, "exposed": exposed, "batch": size, "efficiency": seconds["compute"] / seconds["native"]}


def measure_lossy_steps(modes: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Return median seconds per step dominated by the exchange, with one bucket: PowerSGD does not support more."""
    trainees = {name: Trainee(settings, bucket_mib=2 * NUM_LAYERS) for name, settings in modes.items()}
    batch = torch.randn(8, WIDTH)
    for trainee in trainees.values():
        for _ in range(3):  # until DDP has rebuilt its buckets and PowerSGD has started
            trainee.step(batch)
    return {"seconds": measure_round_robin(trainees["native"], trainees, batch, rounds)}


def measure_round_robin(
    native: Trainee, trainees: dict[str, Trainee], batch: torch.Tensor, rounds: int
) -> dict[str, float]:
    """Return median seconds per step; modes alternate, so that disturbances affect all of them."""
    samples: dict[str, list[float]] = {"compute": [], **{name: [] for name in trainees}}
    for _ in range(rounds):
        samples["compute"].append(native.step(batch, exchange=False))
        for name, trainee in trainees.items():
            samples[name].append(trainee.step(batch))
    return {name: statistics.median(found) for name, found in samples.items()}


def find_batch(native: Trainee, efficiency: float, size: int) -> int:
    """Return the batch size at which compute alone takes `efficiency` of a plain DDP step, starting from `size`."""
    for _ in range(4):
        batch = torch.randn(size, WIDTH)
        pairs = [(native.step(batch, exchange=False), native.step(batch)) for _ in range(4)]
        compute, whole = (statistics.median(pair[which] for pair in pairs[1:]) for which in (0, 1))
        found = compute / whole
        if abs(found - efficiency) < 0.01:
            break
        # The exposed time stays about the same, so the required compute time follows from it. `step` returns the same
        # seconds on every rank, so all of them choose the same size.
        hidden_not = whole - compute
        wanted = efficiency / (1 - efficiency) * hidden_not
        size = max(8, round(size * min(2.0, max(0.5, wanted / compute)) / 8) * 8)
    return size
