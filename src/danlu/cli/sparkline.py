"""A sparkline: values as one line of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[Optional[float]], width: int = 24) -> str:
    """Values as bars, at most `width`; of each interval the value farthest from the mean."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    mean = sum(known) / len(known)
    count = min(width, len(known))
    shown = []
    for number in range(count):
        stretch = known[number * len(known) // count : (number + 1) * len(known) // count]
        shown.append(max(stretch, key=lambda value: abs(value - mean)))
    low, high = min(shown), max(shown)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((value - low) * scale)] for value in shown)
