"""Adaptive precision on a small real task: the same training in float32 and with a policy."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import nn

from danlu_accel.precision import AdaptivePrecision, Policy
from precision.digits import accuracy, load_digits, small_net

BATCH = 32
LEARNING_RATE = 0.02


@dataclass(frozen=True)
class Trained:
    """Results of one training."""

    accuracy: float
    share_low: float
    seconds: float
    precisions: tuple[str, ...]


def train(policy: Policy, seed: int, epochs: int) -> Trained:
    digits = load_digits(seed)
    model = small_net(seed)
    precision = AdaptivePrecision(policy, model)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=max(1, epochs // 2), gamma=0.1)
    loss_of = nn.CrossEntropyLoss()
    shuffle = torch.Generator().manual_seed(seed)
    last_loss: float | None = None
    started = time.perf_counter()
    for epoch in range(epochs):
        precision.begin_epoch(epoch, lr=float(schedule.get_last_lr()[0]), loss=last_loss)
        order = torch.randperm(len(digits.train_labels), generator=shuffle)
        losses = []
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            optimizer.zero_grad()
            with precision.autocast():
                loss = loss_of(model(digits.train_images[chosen]), digits.train_labels[chosen])
            precision.backward(loss, optimizer)
            losses.append(loss.item())
        last_loss = sum(losses) / len(losses)
        schedule.step()
    seconds = time.perf_counter() - started
    precisions = tuple(entry.dtype for entry in precision.record)
    return Trained(accuracy(model, digits), precision.share_low, seconds, precisions)
