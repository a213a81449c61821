"""Points of one metric of many runs: sorted, selected and thinned for responses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from danlu.store.metrics.points import EMPTY, Points


def by_time(points: Points) -> Points:
    """The points sorted by time in milliseconds, step and value."""
    return points.take(np.lexsort((points.values, points.steps, np.round(points.times * 1000))))


def inside(points: Points, between: tuple[int, int] | None) -> Points:
    """The points with steps in the closed interval `between`; all points for None."""
    if between is None:
        return points
    return points.take((points.steps >= between[0]) & (points.steps <= between[1]))


def thinned(
    read: Callable[[str], Points], ids: Sequence[str], *, limit: int, most_of_one: int
) -> Iterator[tuple[str, Points]]:
    """The points at about `limit` steps, chosen evenly from the steps of all runs, plus each run's first and last.

    Points are read twice, because those of a hundred long runs do not fit into memory.
    """
    steps, ends = EMPTY.steps, EMPTY.steps
    for run_id in ids:
        found = np.unique(read(run_id).steps)
        steps, ends = np.union1d(steps, found), np.union1d(ends, found[[0, -1]] if len(found) else found)
    chosen = np.union1d(_evenly(steps, limit), ends)
    for run_id in ids:
        points = read(run_id)
        points = points.take(np.isin(points.steps, chosen))
        points = points.take(np.lexsort((points.times, points.steps)))
        if len(points) > most_of_one:  # several points per step
            points = points.take(np.linspace(0, len(points) - 1, most_of_one).astype(np.int64))
        yield run_id, points


def _evenly(steps: np.ndarray, limit: int) -> np.ndarray:
    """At most `limit` of sorted steps at even distances, and the last one."""
    if len(steps) <= limit:
        return steps
    return steps[[*(np.arange(limit) * len(steps) // limit), -1]]
