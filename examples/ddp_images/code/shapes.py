"""A small image data set that needs no download: four shapes, drawn with noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SHAPES = ("disc", "ring", "square", "cross")
SIDE = 32


def write(folder: Path, *, num_train: int = 2048, num_test: int = 512, seed: int = 7) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    for name, count in (("train", num_train), ("test", num_test)):
        labels = random.integers(0, len(SHAPES), count)
        images = np.stack([draw(SHAPES[label], random) for label in labels])
        np.savez(folder / f"{name}.npz", images=images, labels=labels)


def draw(shape: str, random: np.random.Generator) -> np.ndarray:
    """One image: a shape somewhere, of some size, in noise."""
    rows, columns = np.mgrid[0:SIDE, 0:SIDE]
    size = random.uniform(5, 9)
    y, x = random.uniform(size + 1, SIDE - size - 1, 2)
    distance = np.hypot(rows - y, columns - x)
    inside = {
        "disc": distance < size,
        "ring": (distance < size) & (distance > size * 0.6),
        "square": np.maximum(abs(rows - y), abs(columns - x)) < size * 0.85,
        "cross": (np.minimum(abs(rows - y), abs(columns - x)) < size * 0.3)
        & (np.maximum(abs(rows - y), abs(columns - x)) < size),
    }[shape]
    image = random.normal(70, 20, (SIDE, SIDE)) + inside * random.uniform(60, 110)
    return image.clip(0, 255).astype(np.uint8)
