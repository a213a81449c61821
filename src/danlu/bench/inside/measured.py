"""Measurements of one rank, and timing of repeated steps."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Callable, Optional


@dataclass
class Measured:
    metrics: dict[str, float] = field(default_factory=dict)
    """Name -> value of the rank, without warm-up."""

    samples: dict[str, list[float]] = field(default_factory=dict)
    """Name -> the single measurements of that value."""

    curves: dict[str, list[list[float]]] = field(default_factory=dict)
    """Name -> points (x, y), such as bandwidth by size."""


def time_steps(step: Callable[[], object], *, steps: int, warmup: int) -> list[float]:
    """Seconds of each step after the warm-up. `step` must wait for work that runs in the background."""
    for _ in range(warmup):
        step()
    found = []
    for _ in range(steps):
        began = time.perf_counter()
        step()
        found.append(time.perf_counter() - began)
    return found


def rates(seconds: list[float], amount: float) -> list[float]:
    """Amount per second of each step."""
    return [amount / max(one, 1e-9) for one in seconds]


def rate(seconds: list[float], amount: float) -> float:
    """Amount per second over all steps."""
    return amount * len(seconds) / max(sum(seconds), 1e-9)


def median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def first_reached(course: list[tuple[float, float]], target: float) -> Optional[float]:
    """Seconds until a sequence of (seconds, value) first reached the target; None if it did not."""
    return next((seconds for seconds, value in course if value >= target), None)
