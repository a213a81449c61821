"""Accuracy lost by a lossy wire format: the same training with exact and rounded gradients, on a small real task."""

from __future__ import annotations

import statistics
from typing import Any, get_args

import torch
import torch.distributed as dist
from precision.digits import Digits, accuracy, load_digits, small_net
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817

from comm_lab.torch_hooks import register
from danlu_accel import comm

WIRES = get_args(comm.WireFormat)
ONE_BUCKET_MIB = 64  # PowerSGD supports only one bucket on gloo
BATCH = 16  # per rank
LEARNING_RATE = 0.05


def measure_accuracy(wires: list[str], seeds: int, epochs: int) -> dict[str, Any]:
    """Return the mean test accuracy over `seeds` trainings for every wire format, ours or a hook of torch."""
    torch.set_num_threads(1)
    found: dict[str, list[float]] = {wire: [] for wire in wires}
    for seed in range(seeds):
        digits = load_digits(seed)
        for wire in wires:
            found[wire].append(train(digits, wire, seed, epochs))
    return {"accuracy": {wire: statistics.mean(values) for wire, values in found.items()}}


def train(digits: Digits, wire: Any, seed: int, epochs: int) -> float:
    rank, size = dist.get_rank(), dist.get_world_size()
    ddp = DDP(small_net(seed), bucket_cap_mb=ONE_BUCKET_MIB)
    attachment = None
    if wire in WIRES:
        attachment = comm.attach(ddp, algorithm="2d", wire=wire)
    else:
        num_steps = epochs * (len(digits.train_labels) // (BATCH * size))
        register(ddp, wire, start=num_steps // 10)  # as torch's documentation says
    optimizer = torch.optim.SGD(ddp.parameters(), lr=LEARNING_RATE, momentum=0.9)
    shuffle = torch.Generator().manual_seed(seed)
    loss_of = nn.CrossEntropyLoss()
    for _ in range(epochs):
        order = torch.randperm(len(digits.train_labels), generator=shuffle)
        for start in range(0, len(order) - BATCH * size + 1, BATCH * size):
            mine = order[start + rank * BATCH : start + (rank + 1) * BATCH]
            optimizer.zero_grad()
            loss_of(ddp(digits.train_images[mine]), digits.train_labels[mine]).backward()
            optimizer.step()
    if attachment is not None:
        attachment.close()
    return accuracy(ddp.module, digits)
