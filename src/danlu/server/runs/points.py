"""Many series of many runs in one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from danlu.auth.identity import UserIdentity
from danlu.server.invalid import bad_field
from danlu.server.runs import service
from danlu.server.runs.view import series_out
from danlu.server.state import ServerState
from danlu.store.metrics.points import Axis
from danlu.store.queries import runs
from danlu.store.sql.run_tables import SeriesRow
from danlu.wire.runs import PointsOut, SeriesPoints

MAX_LINES = 1000
MAX_POINTS = 1_000_000
"""In one answer."""


@dataclass(frozen=True, slots=True)
class PointsQuery:
    series: tuple[str, ...]
    """type/name; all when empty."""

    axis: Axis
    max_points: int
    with_hidden: bool


def read_points(state: ServerState, who: UserIdentity, wanted: Sequence[str], query: PointsQuery) -> PointsOut:
    """What is durable can be read, even where the roll-ups are a moment behind."""
    items: list[SeriesPoints] = []
    for name in dict.fromkeys(wanted):
        with state.database.reading() as session:
            row = service.find(session, who, name)
            chosen = [one for one in runs.series_of(session, row.number) if _is_wanted(one, query.series)]
            if len(items) + len(chosen) > MAX_LINES or (len(items) + len(chosen)) * query.max_points > MAX_POINTS:
                told = f"more than {MAX_LINES} lines or {MAX_POINTS} points; ask for fewer runs, series or max_points"
                raise bad_field("run", told)
            for series in chosen:
                lines = state.metrics.reader.lines(
                    session,
                    row,
                    series,
                    axis=query.axis,
                    max_points=query.max_points,
                    with_hidden=query.with_hidden,
                )
                items.append(series_out(row.id, series, lines))
    return PointsOut.model_construct(axis=query.axis.value, items=items)


def _is_wanted(series: SeriesRow, wanted: Sequence[str]) -> bool:
    return not wanted or f"{series.type}/{series.name}" in wanted
