"""Models to time: a ResNet-50, a ResNeXt-50 and a transformer, built from torch alone."""

from __future__ import annotations

import torch
from torch import Tensor, nn

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first block
EXPANSION = 4


class Bottleneck(nn.Module):
    """ResNet's three convolutions with a shortcut."""

    def __init__(self, channels: int, width: int, stride: int, groups: int = 1) -> None:
        super().__init__()
        out = width * EXPANSION
        inner = width if groups == 1 else 2 * width  # ResNeXt's 32x4d is twice as wide inside
        middle = convolution(inner, inner, 3, stride, groups)
        self.body = nn.Sequential(*convolution(channels, inner, 1), nn.ReLU(), *middle, nn.ReLU())
        self.last = nn.Sequential(*convolution(inner, out, 1))
        fits = stride == 1 and channels == out
        self.around = nn.Identity() if fits else nn.Sequential(*convolution(channels, out, 1, stride))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.last(self.body(x)) + self.around(x))


def convolution(channels: int, out: int, size: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(channels, out, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(out)]


def resnet50(num_classes: int = 1000) -> nn.Module:
    return nn.Sequential(
        *stages(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(STAGES[-1][0] * EXPANSION, num_classes)
    )


def resnext50(num_classes: int = 1000) -> nn.Module:
    """ResNeXt-50 32x4d."""
    return nn.Sequential(
        *stages(groups=32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(STAGES[-1][0] * EXPANSION, num_classes)
    )


def stages(count: int = len(STAGES), groups: int = 1) -> list[nn.Module]:
    """Return the first stages of a ResNet-50, which reduce the sides by 4, 8, 16, 32."""
    layers: list[nn.Module] = [*convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, blocks, stride in STAGES[:count]:
        for index in range(blocks):
            layers.append(Bottleneck(channels, width, stride if index == 0 else 1, groups))
            channels = width * EXPANSION
    return layers


def transformer(width: int, num_layers: int) -> nn.Module:
    layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, num_layers)
