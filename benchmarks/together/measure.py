"""One rank: trains with nothing, with records, with precision on top, and with the exchange on top, in turns."""

from __future__ import annotations

import contextlib
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

MODES = ("native", "io", "io+precision", "io+precision+exchange")


class Trainee:
    def __init__(self, mode: str, task_name: str, folder: Path, batch_size: int) -> None:
        self.task = task = TASKS[task_name]
        torch.manual_seed(0)
        self.ddp = DDP(task.make_model().to(memory_format=torch.channels_last), gradient_as_bucket_view=True)
        if mode.endswith("exchange"):
            comm.attach(self.ddp, algorithm="2d")
        self.precision: AdaptivePrecision | None = None
        if "precision" in mode:
            self.precision = AdaptivePrecision(TimeWindow(start=0), self.ddp)
            self.precision.begin_epoch(0)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=1e-3)
        read = from_files if mode == "native" else from_records
        self.batches = read(folder, batch_size, has_boxes=task.has_boxes)
        self.losses: list[float] = []

    def train(self, num_steps: int) -> float:
        """Return the seconds of the slowest rank."""
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
    """Return images per second and rank of every mode; they take turns, so that what disturbs one disturbs all."""
    trainees = {mode: Trainee(mode, task, Path(folder), batch_size) for mode in MODES}
    samples: dict[str, list[float]] = {mode: [] for mode in MODES}
    for number in range(rounds + 1):
        for mode, trainee in trainees.items():
            seconds = trainee.train(num_steps)
            if number:  # in the first round DDP settles its buckets and loaders fill
                samples[mode].append(num_steps * batch_size / seconds)
    precision = trainees[MODES[-1]].precision
    assert precision is not None
    return {
        "rates": {mode: statistics.median(found) for mode, found in samples.items()},
        "ratios": {
            mode: statistics.median(ours / plain for ours, plain in zip(found, samples["native"], strict=True))
            for mode, found in samples.items()
        },
        "precision": precision.reason,
        "losses": {mode: statistics.mean(trainee.losses[-num_steps:]) for mode, trainee in trainees.items()},
    }
