"""What all cases share: a small model, its data, and training it."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from danlu_accel import comm

SMALL = {"bucket_cap_mb": 0.01}  # several buckets even for a small model


class Net(nn.Module):
    """Odd sizes on purpose: nothing divides by the number of ranks."""

    def __init__(self, unused: bool = False) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(13, 67), nn.Tanh(), nn.Linear(67, 41), nn.Tanh(), nn.Linear(41, 3))
        self.sometimes = nn.Linear(13, 3) if unused else None

    def forward(self, x: Tensor, use_all: bool = True) -> Tensor:
        y: Tensor = self.layers(x)
        if self.sometimes is not None and use_all:
            y = y + self.sometimes(x)
        return y


def host_options(**more: Any) -> comm.Options:
    return comm.Options(host_key=os.environ["TEST_HOST_KEY"], **more)


def batch(step: int, rank: int) -> Tensor:
    return torch.randn(5, 13, generator=torch.Generator().manual_seed(1000 * step + rank))


def fingerprint(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    return digest.hexdigest()


def train(
    ddp: nn.Module, *, steps: int = 4, micro: int = 1, use_all: Callable[[int, int], bool] = lambda *_: True
) -> Tensor:
    """Train and return all parameters as one vector."""
    rank = dist.get_rank()
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(micro):
            quiet = ddp.no_sync() if part < micro - 1 else contextlib.nullcontext()
            with quiet:
                args = (use_all(step, rank),) if isinstance(ddp.module, Net) else ()
                ddp(batch(step * micro + part, rank), *args).square().mean().backward()
        optimizer.step()
    return nn.utils.parameters_to_vector(ddp.parameters()).detach()
