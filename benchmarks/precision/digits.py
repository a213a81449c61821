"""A small real task: 1797 scanned handwritten digits of 8×8 pixels, from scikit-learn."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Digits:
    """Images as N×1×8×8 float32 in 0..1, labels as int64."""

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor


MISSING = "not measured: the task is scikit-learn's digits; pip install scikit-learn"


def has_digits() -> bool:
    return importlib.util.find_spec("sklearn") is not None


def load_digits(seed: int) -> Digits:
    """Return a split that depends on `seed` only: three quarters for training, a quarter for testing."""
    from sklearn import datasets

    data = datasets.load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(data.target, dtype=torch.int64)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    cut = 3 * len(labels) // 4
    train, test = order[:cut], order[cut:]
    return Digits(images[train], labels[train], images[test], labels[test])


def small_net(seed: int, width: int = 32) -> nn.Module:
    """Return a small convolutional net; the same seed gives the same net."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * width * 16, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


@torch.no_grad()
def accuracy(model: nn.Module, digits: Digits) -> float:
    """Return the share of test digits that are classified correctly."""
    model.eval()
    predicted = model(digits.test_images).argmax(1)
    model.train()
    return float((predicted == digits.test_labels).float().mean())
