"""Journals, pushed metrics and points: operations on files, with several transactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from danlu.auth.identity import Identity, UserIdentity
from danlu.errors import Unavailable
from danlu.server.invalid import bad_field
from danlu.server.runs import pushed, service
from danlu.server.runs.points import PointsQuery, check_size, chosen_series, own_axis
from danlu.server.runs.view import placed_over, run_out, series_out
from danlu.server.state import ServerState
from danlu.spec.runs import is_journal_name
from danlu.store.metrics.points import Axis, Points
from danlu.store.metrics.reading import FoundSeries, Lines
from danlu.store.queries import runs
from danlu.store.sql.run_tables import RunRow
from danlu.wire.runs import PointsOut, PushMetrics, RunOut, SeriesPoints

TRIES = 50
MAX_AXIS_POINTS = 20_000
"""Points of a metric that is the axis of another."""


def journal_offset(state: ServerState, who: Identity, run: str, journal: str) -> int:
    row = _to_write(state, who, run, journal)
    return state.metrics.journals.offset(row.number, row.id, journal)


def append_to_journal(state: ServerState, who: Identity, run: str, journal: str, *, offset: int, data: bytes) -> int:
    """Append; return how many bytes are durable now."""
    row = _to_write(state, who, run, journal)
    return state.metrics.append(row.number, row.id, journal, offset=offset, data=data, now=state.now())


def push(state: ServerState, who: Identity, job: str, metrics: Sequence[PushMetrics]) -> RunOut:
    """Append to the job's own run; durable when this returns. Others may push at the same time."""
    row = state.database.write(pushed.own_run, state, who, job)
    now = state.now().timestamp()
    append_frames(state, row, pushed.JOURNAL, frames=pushed.frames(metrics, after_step=row.step, now=now))
    with state.database.reading() as session:
        return run_out(session, service.find(session, who, row.id))


def append_frames(state: ServerState, row: RunRow, journal: str, *, frames: Sequence[bytes]) -> None:
    """Append to a journal that this server writes, and ingest it. Others may append at the same time."""
    now = state.now().timestamp()
    for _ in range(TRIES):
        offset = state.metrics.journals.offset(row.number, row.id, journal)
        data = b"".join([*pushed.head(row, now, name=journal, is_first=offset == 0), *frames])
        end = state.metrics.append(row.number, row.id, journal, offset=offset, data=data, now=state.now())
        if end == offset + len(data):
            state.metrics.ingest_journal(row.number, row.id, journal)
            return
    raise Unavailable("too many concurrent pushes to this run; try again")


def read_points(state: ServerState, who: UserIdentity, wanted: Sequence[str], query: PointsQuery) -> PointsOut:
    """Read points; what is found of each run is of one transaction. Durable points are found even before they are
    rolled up. No session is open while files are read: packs may be in a store that is slow."""
    items: list[SeriesPoints] = []
    for name in dict.fromkeys(wanted):
        with state.database.reading() as session:
            row = service.find(session, who, name)
            known = {f"{one.type}/{one.name}": one for one in runs.series_of(session, row.number)}
            chosen = chosen_series(list(known.values()), query)
            check_size(len(items) + len(chosen), query)
            named = {one.id: own_axis(one, row.axes) for one in chosen if query.axis is Axis.OWN}
            axes = [axis for axis in dict.fromkeys(named.values()) if axis is not None and axis in known]
            opened = state.metrics.reader.open_run(session, row)
            found = state.metrics.reader.find(session, opened, [*chosen, *(known[axis] for axis in axes)])
        read = partial(state.metrics.reader.lines, opened)
        over = _Axes(read, dict(zip(axes, found[len(chosen) :], strict=True)))
        for one in found[: len(chosen)]:
            lines = read(one, axis=query.axis, max_points=query.max_points, with_hidden=query.with_hidden)
            items.append(over.placed(series_out(row.id, one.series, lines), named.get(one.series.id)))
    return PointsOut.model_construct(axis=query.axis.value, items=items)


class _Axes:
    """Axes that a run's script has set for its metrics. Each is read once, since many metrics usually share one."""

    def __init__(self, read: Callable[..., Lines], found: Mapping[str, FoundSeries]) -> None:
        self._lines, self._found = read, found
        self._read: dict[str, Points] = {}

    def placed(self, shown: SeriesPoints, name: str | None) -> SeriesPoints:
        """The series over the axis of this name; unchanged if there is no such axis."""
        if name is None or name not in self._found:
            return shown
        if name not in self._read:
            found = self._lines(self._found[name], axis=Axis.STEP, max_points=MAX_AXIS_POINTS, with_hidden=False)
            self._read[name] = found.main
        return placed_over(shown, self._read[name], name=name)


def _to_write(state: ServerState, who: Identity, run: str, journal: str) -> RunRow:
    if not is_journal_name(journal):
        raise bad_field("journal", f"expected letters, digits, - and _, got {journal[:80]!r}")
    with state.database.reading() as session:
        return service.find_to_change(session, who, run)
