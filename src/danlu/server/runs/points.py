"""Queries for points of runs, and their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from danlu.server.invalid import bad_field
from danlu.store.metrics.points import Axis
from danlu.store.sql.run_tables import SeriesRow

MAX_LINES = 1000
MAX_POINTS = 1_000_000
"""In one response."""


@dataclass(frozen=True, slots=True)
class PointsQuery:
    series: tuple[str, ...]
    """type/name; all when empty."""

    axis: Axis
    max_points: int
    with_hidden: bool


def chosen_series(known: Sequence[SeriesRow], query: PointsQuery) -> list[SeriesRow]:
    return [one for one in known if _is_wanted(one, query.series)]


def own_axis(series: SeriesRow, axes: Mapping[str, Any]) -> str | None:
    """The metric, as type/name, that a series is shown over: by its own name, else by the longest prefix with *."""
    name = f"{series.type}/{series.name}"
    begun = [key for key in axes if key.endswith("*") and name.startswith(key[:-1])]
    found = axes.get(name) or (axes[max(begun, key=len)] if begun else None)
    return found if isinstance(found, str) and found != name else None


def check_size(num_lines: int, query: PointsQuery) -> None:
    if num_lines > MAX_LINES or num_lines * query.max_points > MAX_POINTS:
        told = f"more than {MAX_LINES} lines or {MAX_POINTS} points; ask for fewer runs, series or max_points"
        raise bad_field("run", told)


def _is_wanted(series: SeriesRow, wanted: Sequence[str]) -> bool:
    return not wanted or f"{series.type}/{series.name}" in wanted
