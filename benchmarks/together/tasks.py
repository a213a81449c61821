"""The trained models: a ResNet and a ResNeXt that classify, and a detector like CenterNet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from precision.models import EXPANSION, STAGES, resnet50, resnext50, stages
from torch import Tensor, nn

NUM_CLASSES = 30
SIDE = 112
STRIDE = 16
LossOf = Callable[[Tensor, Any], Tensor]


@dataclass(frozen=True)
class Task:
    make_model: Callable[[], nn.Module]
    loss_of: LossOf
    has_boxes: bool = False


def detector() -> nn.Module:
    """Returns scores of all classes, and width and height, for every 16th pixel."""
    channels = STAGES[2][0] * EXPANSION
    head = [nn.Conv2d(channels, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, NUM_CLASSES + 2, 1)]
    return nn.Sequential(*stages(3), *head)


def detection_loss(outputs: Tensor, targets: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """`targets`: boxes as x0, y0, x1, y1 in pixels, and their classes, for each image."""
    scores, sizes = outputs[:, :NUM_CLASSES], outputs[:, NUM_CLASSES:]
    wanted = torch.zeros_like(scores)
    wrong_size = outputs.new_zeros(())
    for number, (boxes, labels) in enumerate(targets):
        if not len(labels):
            continue
        center = ((boxes[:, :2] + boxes[:, 2:]) / 2 / STRIDE).long().clamp(max=scores.shape[-1] - 1)
        wanted[number, labels, center[:, 1], center[:, 0]] = 1
        told = sizes[number, :, center[:, 1], center[:, 0]].T
        wrong_size = wrong_size + nn.functional.l1_loss(told, (boxes[:, 2:] - boxes[:, :2]) / SIDE)
    return nn.functional.binary_cross_entropy_with_logits(scores, wanted) + 0.1 * wrong_size / len(targets)


TASKS = {
    "resnet50": Task(lambda: resnet50(NUM_CLASSES), nn.functional.cross_entropy),
    "resnext50": Task(lambda: resnext50(NUM_CLASSES), nn.functional.cross_entropy),
    "detector": Task(detector, detection_loss, has_boxes=True),
}
