"""torchvision's Python transforms, even without a matching build: its compiled operators are declared as stubs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import torch

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_library = torch.library.Library("torchvision", "DEF")


def _declare_operators() -> None:
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        raise ImportError("torchvision is not installed here: pip install --no-deps torchvision")
    source = (Path(spec.origin).parent / "_meta_registrations.py").read_text()
    names = {*re.findall(r'register_meta\("(\w+)"\)', source), *re.findall(r"torchvision::(\w+)", source), "nms"}
    for name in sorted(names):
        _library.define(f"{name}(Tensor x) -> Tensor")


_declare_operators()

from torchvision import datasets, transforms  # noqa: E402, F401


def training_transform() -> Any:
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )


def training_transform_to_bytes() -> Any:
    """For scripts that normalise on the device."""
    return transforms.Compose(
        [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.PILToTensor()]
    )
