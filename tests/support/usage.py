"""What was measured of a task that runs on this machine."""

from __future__ import annotations

from pathlib import Path

from danlu.journal.usage import read_cells
from danlu.node.supervise.records import USE


def num_looks(folder: Path) -> int:
    """How often it was measured what the task with this folder uses."""
    file = folder / USE
    return len(list(read_cells(file.read_bytes()))) if file.exists() else 0
