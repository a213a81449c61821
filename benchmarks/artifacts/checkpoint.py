"""Checkpoints for benchmarks: reproducible bytes, and a next checkpoint that differs in a given share of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import BinaryIO

PIECE = 1 << 20
SPACING = 48 << 20
"""Distance of changed places: about a layer of a large model."""

INSERTED = 0.1
"""Share of the changed bytes that are inserted, as when a layer or an index grows."""


def write_checkpoint(path: Path, size: int, *, seed: int | str = 1) -> None:
    """Write random bytes, which resemble trained weights; each piece is different."""
    with path.open("wb") as file:
        for begin in range(0, size, PIECE):
            file.write(random.Random(f"{seed} {begin}").randbytes(min(PIECE, size - begin)))


def write_next(old: Path, new: Path, *, share: float, spacing: int = SPACING, seed: int = 2) -> dict[str, int]:
    """Copy a checkpoint, with `share` of its bytes replaced or inserted at places spread over it.

    Every fifth place also inserts bytes, which moves everything after it.
    """
    size = old.stat().st_size
    num_places = max(3, size // spacing)
    per_place = int(size * share / num_places)
    chance = random.Random(seed)
    begins = [int((number + chance.uniform(0.1, 0.8)) * size / num_places) for number in range(num_places)]
    num_inserting = len(range(0, num_places, 5))
    inserted = int(size * share * INSERTED / num_inserting)
    replaced = per_place - int(per_place * INSERTED)
    changed = 0
    with old.open("rb") as source, new.open("wb") as target:
        for number, begin in enumerate(begins):
            _copy(source, target, begin - source.tell())
            target.write(chance.randbytes(replaced))
            source.seek(replaced, 1)
            changed += replaced
            if number % 5 == 0:
                target.write(chance.randbytes(inserted))
                changed += inserted
        _copy(source, target, size - source.tell())
    return {"num_places": num_places, "num_inserting": num_inserting, "changed_bytes": changed}


def _copy(source: BinaryIO, target: BinaryIO, size: int) -> None:
    while size > 0:
        piece = source.read(min(PIECE, size))
        target.write(piece)
        size -= len(piece)
