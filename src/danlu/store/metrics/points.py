"""Points as columns, and downsampling that keeps extremes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from danlu.spec.states import Word

BLOCK = 64
"""Block size of thin columns: the first, lowest, highest and last point of each block are kept."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Axis(Word):
    STEP = "step"
    EPOCH = "epoch"
    TIME = "time"
    OWN = "own"
    """The metric that the script has set as the axis; steps if none."""


@dataclass(frozen=True, slots=True)
class Points:
    """Points of one series. `epochs` has NaN where there is none."""

    steps: Ints
    times: Floats
    epochs: Floats
    values: Floats

    def __len__(self) -> int:
        return len(self.steps)

    def take(self, which: NDArray[Any] | slice) -> Points:
        """Points at these indices, in this range, or where the mask is true."""
        return Points(self.steps[which], self.times[which], self.epochs[which], self.values[which])

    def along(self, axis: Axis) -> Floats:
        if axis in (Axis.STEP, Axis.OWN):
            return self.steps.astype(np.float64)
        return self.epochs if axis is Axis.EPOCH else self.times


EMPTY = Points(np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0))


def over(points: Points, axis: Points) -> tuple[Points, Floats]:
    """Place points on an axis that is another series: return them sorted, with their positions.

    The position of a point is the last value of `axis` up to its step. Points without a finite position are dropped.
    """
    order = np.argsort(axis.steps, kind="stable")
    steps, values = axis.steps[order], axis.values[order]
    at = np.searchsorted(steps, points.steps, side="right") - 1
    places = np.where(at >= 0, values[np.maximum(at, 0)], np.nan) if len(steps) else np.full(len(points), np.nan)
    is_placed = np.isfinite(places)
    points, places = points.take(is_placed), places[is_placed]
    order = np.argsort(places, kind="stable")
    return points.take(order), places[order]


def join(parts: Sequence[Points]) -> Points:
    """Concatenate points."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return EMPTY
    return Points(
        np.concatenate([part.steps for part in parts]),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.epochs for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def thin(points: Points, block: int = BLOCK) -> Points:
    """The first, lowest, highest and last point of each block, each once and in order.

    Repeated thinning keeps the extremes.
    """
    if len(points) <= 4:
        return points
    blocks = np.arange(len(points)) // block
    return points.take(_telling(points.values, blocks, with_ends=True))


def downsample(points: Points, max_points: int, axis: Axis = Axis.STEP) -> Points:
    """At most `max_points` (at least 2) along the axis, with the lowest and highest point of each interval.

    Points without a value on the axis are dropped. The first and the last point are kept.
    """
    along = points.along(axis)
    if np.isnan(along).any():
        points = points.take(~np.isnan(along))
        along = points.along(axis)
    if np.any(along[1:] < along[:-1]):
        order = np.argsort(along, kind="stable")
        points, along = points.take(order), along[order]
    if len(points) <= max_points:
        return points
    ends = np.array([0, len(points) - 1])
    num_stretches = (max_points - 2) // 2
    if num_stretches < 1:
        return points.take(ends)
    low, high = along[0], along[-1]
    if high > low and np.isfinite(high - low):
        stretches = np.minimum(((along - low) * (num_stretches / (high - low))).astype(np.int64), num_stretches - 1)
    else:  # all at one position: split by index
        stretches = np.arange(len(points)) * num_stretches // len(points)
    chosen = _telling(points.values, stretches, with_ends=False)
    return points.take(np.unique(np.concatenate([ends, chosen])))


def _telling(values: Floats, groups: NDArray[np.int64], *, with_ends: bool) -> NDArray[np.int64]:
    """Indices of the lowest and highest value of each group; `groups` is non-decreasing. NaN only if all are NaN."""
    firsts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    lasts = np.r_[firsts[1:] - 1, len(groups) - 1]
    is_nan = np.isnan(values)
    # sorted within each group, lowest first; NaN sorts last
    lowest = np.lexsort((values, groups))[firsts]
    highest = np.lexsort((np.where(is_nan, np.nan, -values), groups))[firsts]
    places = [lowest, highest, firsts, lasts] if with_ends else [lowest, highest]
    return np.unique(np.concatenate(places))
