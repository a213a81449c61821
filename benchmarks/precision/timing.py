"""Time training steps in float32 and in low precision, alternately."""

from __future__ import annotations

import statistics
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from danlu_accel.precision import AdaptivePrecision, TimeWindow


@dataclass(frozen=True)
class Steps:
    """Median seconds of a training step."""

    full: float
    autocast: float
    """bf16 with torch's own kernels."""

    ours: float
    ratio: float
    """The median over rounds of float32 seconds divided by ours."""


def time_steps(model: nn.Module, batch: Tensor, dtype: torch.dtype, rounds: int) -> Steps:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    adaptive = AdaptivePrecision(TimeWindow(start=0), model)
    adaptive.begin_epoch(0)
    samples = []
    for _ in range(rounds + 1):
        full = train_step(model, batch, optimizer, nullcontext())
        autocast = train_step(model, batch, optimizer, torch.autocast("cpu", dtype=dtype))
        ours = train_step(model, batch, optimizer, adaptive.autocast())
        samples.append((full, autocast, ours))
    counted = samples[1:]  # the first compiles kernels
    medians = [statistics.median(column) for column in zip(*counted, strict=True)]
    return Steps(*medians, ratio=statistics.median(full / ours for full, _, ours in counted))


def train_step(
    model: nn.Module, batch: Tensor, optimizer: torch.optim.Optimizer, precision: AbstractContextManager[object]
) -> float:
    started = time.perf_counter()
    optimizer.zero_grad()
    with precision:
        loss = model(batch).float().square().mean()
    loss.backward()
    optimizer.step()
    return time.perf_counter() - started
