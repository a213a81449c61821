"""One rank: trains with plain PyTorch, with each part alone, and with all of them, alternately."""

from __future__ import annotations

import contextlib
import math
import statistics
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817

from danlu_accel import comm
from danlu_accel.precision import AdaptivePrecision, TimeWindow
from together.data import from_files, from_records
from together.tasks import TASKS

PARTS = ("io", "precision", "exchange")
MODES: dict[str, tuple[str, ...]] = {"native": (), **{part: (part,) for part in PARTS}, "together": PARTS}


class Trainee:
    def __init__(self, parts: tuple[str, ...], task_name: str, folder: Path, batch_size: int) -> None:
        self.task = task = TASKS[task_name]
        torch.manual_seed(0)  # all ranks start with the same model, so it need not be sent over the link
        model = task.make_model().to(memory_format=torch.channels_last)
        self.ddp = DDP(model, gradient_as_bucket_view=True, init_sync=False)
        if "exchange" in parts:
            comm.attach(self.ddp, algorithm="2d")
        self.precision: AdaptivePrecision | None = None
        if "precision" in parts:
            self.precision = AdaptivePrecision(TimeWindow(start=0), self.ddp)
            self.precision.begin_epoch(0)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=1e-3)
        read = from_records if "io" in parts else from_files
        self.batches = read(folder, batch_size, has_boxes=task.has_boxes)
        self.losses: list[float] = []

    def train(self, num_steps: int) -> float:
        """Train and return the seconds of the slowest rank."""
        dist.barrier()
        started = time.perf_counter()
        for _ in range(num_steps):
            images, targets = next(self.batches)
            self.optimizer.zero_grad()
            with contextlib.nullcontext() if self.precision is None else self.precision.autocast():
                outputs = self.ddp(images.contiguous(memory_format=torch.channels_last))
            loss = self.task.loss_of(outputs.float(), targets)
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss.item())
        slowest = torch.tensor([time.perf_counter() - started])
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        return float(slowest)


def measure_together(task: str, folder: str, batch_size: int, num_steps: int, rounds: int) -> dict[str, Any]:
    """Return images per second and rank for every mode; modes alternate, so that disturbances affect all of them."""
    trainees = {mode: Trainee(parts, task, Path(folder), batch_size) for mode, parts in MODES.items()}
    for trainee in trainees.values():  # DDP rebuilds its buckets, and loaders fill
        trainee.train(1)
    turns = [{mode: trainee.train(num_steps) for mode, trainee in trainees.items()} for _ in range(rounds)]
    precision = trainees["together"].precision
    assert precision is not None
    return {
        "rates": {mode: statistics.median(num_steps * batch_size / turn[mode] for turn in turns) for mode in MODES},
        "gains": {mode: statistics.median(turn["native"] / turn[mode] for turn in turns) for mode in MODES},
        "of_product": statistics.median(share_of_product(turn) for turn in turns),
        "precision": precision.reason,
        "losses": {mode: statistics.mean(trainee.losses[-num_steps:]) for mode, trainee in trainees.items()},
    }


def share_of_product(turn: dict[str, float]) -> float:
    """Return the gain of all parts together, divided by the product of the gains of each alone."""
    return turn["native"] / turn["together"] / math.prod(turn["native"] / turn[part] for part in PARTS)
