"""A data set of small grey pictures: a bright dot in one of four corners."""

from __future__ import annotations

import json
import random
from pathlib import Path

SIDE = 8
NUM_PICTURES = 256


def write_images(folder: Path) -> None:
    """Write pictures and labels, always the same ones."""
    chance = random.Random(7)
    pictures, labels = [], []
    for number in range(NUM_PICTURES):
        corner = number % 4
        row, column = (corner // 2) * 5 + chance.randrange(3), (corner % 2) * 5 + chance.randrange(3)
        picture = [chance.random() * 0.3 for _ in range(SIDE * SIDE)]
        picture[row * SIDE + column] += 1.0
        pictures.append([round(value, 3) for value in picture])
        labels.append(corner)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pictures.json").write_text(json.dumps(pictures))
    (folder / "labels.json").write_text(json.dumps(labels))
