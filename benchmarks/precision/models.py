"""Two shapes to time: a ResNet-50 and a transformer, built from torch alone."""

from __future__ import annotations

import torch
from torch import Tensor, nn

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first
EXPANSION = 4


class Bottleneck(nn.Module):
    """ResNet's three convolutions with a way around them."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = width * EXPANSION
        self.body = nn.Sequential(
            *convolution(channels, width, 1), nn.ReLU(), *convolution(width, width, 3, stride), nn.ReLU()
        )
        self.last = nn.Sequential(*convolution(width, out, 1))
        fits = stride == 1 and channels == out
        self.around = nn.Identity() if fits else nn.Sequential(*convolution(channels, out, 1, stride))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.last(self.body(x)) + self.around(x))


def convolution(channels: int, out: int, size: int, stride: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(channels, out, size, stride, size // 2, bias=False), nn.BatchNorm2d(out)]


def resnet50() -> nn.Module:
    layers: list[nn.Module] = [*convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, blocks, stride in STAGES:
        for index in range(blocks):
            layers.append(Bottleneck(channels, width, stride if index == 0 else 1))
            channels = width * EXPANSION
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def transformer(width: int, num_layers: int) -> nn.Module:
    layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, num_layers)
