"""A residual convolutional network that learns which quarter of a synthetic image is bright."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from danlu.bench.inside.measured import Measured
from danlu.bench.inside.place import Place
from danlu.bench.inside.work.training import SEED, train

if TYPE_CHECKING:
    import torch


def work(place: Place, parameters: dict[str, Any]) -> Measured:
    import torch

    torch.manual_seed(SEED)
    size = int(parameters["image_size"])

    def draw(random: torch.Generator, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        images = torch.randn(count, 3, size, size, generator=random)
        classes = torch.randint(4, (count,), generator=random)
        half = size // 2
        for image, one in zip(images, classes.tolist()):
            row, column = half * (one // 2), half * (one % 2)
            image[:, row : row + half, column : column + half] += 1.0
        return images, classes

    return train(
        _network(int(parameters["width"]), int(parameters["blocks"])), draw, place=place, parameters=parameters
    )


def _network(width: int, blocks: int) -> torch.nn.Module:
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1, bias=False),
                nn.GroupNorm(4, width),
                nn.ReLU(),
                nn.Conv2d(width, width, 3, padding=1, bias=False),
                nn.GroupNorm(4, width),
            )

        def forward(self, values: torch.Tensor) -> torch.Tensor:
            return nn.functional.relu(values + self.body(values))

    return nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2, padding=1),
        nn.ReLU(),
        *(Block() for _ in range(blocks)),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(4 * width, 4),
    )
