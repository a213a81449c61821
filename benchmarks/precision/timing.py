"""Training steps in float32 and in low precision, in turns."""

from __future__ import annotations

import statistics
import time

import torch
from torch import Tensor, nn


def speedup(model: nn.Module, batch: Tensor, dtype: torch.dtype, rounds: int) -> tuple[float, float, float]:
    """Return median float32 seconds, median low-precision seconds, and the median of the rounds' ratios."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    samples = []
    for _ in range(rounds + 1):
        full = train_step(model, batch, optimizer, None)
        low = train_step(model, batch, optimizer, dtype)
        samples.append((full, low))
    counted = samples[1:]  # the first compiles kernels
    full, low = (statistics.median(pair[which] for pair in counted) for which in (0, 1))
    return full, low, statistics.median(pair[0] / pair[1] for pair in counted)


def train_step(model: nn.Module, batch: Tensor, optimizer: torch.optim.Optimizer, dtype: torch.dtype | None) -> float:
    started = time.perf_counter()
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
        loss = model(batch).float().square().mean()
    loss.backward()
    optimizer.step()
    return time.perf_counter() - started
