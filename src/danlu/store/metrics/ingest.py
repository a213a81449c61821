"""Ingest a range of a journal: points, values and the new ingested offset, in one transaction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from danlu.spec.runs import SYSTEM, Ended, RunState, flatten, run_end
from danlu.store.metrics.decode import Layouts, SeriesKey, Stretch
from danlu.store.metrics.journals import journals_of
from danlu.store.metrics.points import Points
from danlu.store.metrics.set_records import apply_sets
from danlu.store.queries.monitoring import run_alerts
from danlu.store.sql.database import num_changed
from danlu.store.sql.run_tables import (
    BranchRow,
    JournalRow,
    MediaRow,
    RunAlertRow,
    RunOutputRow,
    RunRow,
    RunValueRow,
    SeriesRow,
)

MAX_KEYS = 2000
"""Maximum number of searchable values of one kind per run; others are only shown."""

MAX_KEY_CHARS = 400
MAX_ALERTS = 1000
"""Maximum number of alerts of one run; later ones are dropped."""


def layouts_of(journal: JournalRow) -> Layouts:
    return {
        int(number): tuple(SeriesKey(type_, name) for type_, name in keys) for number, keys in journal.layouts.items()
    }


def ingest_stretch(session: Session, run: int, journal: str, start: int, made: Stretch) -> bool:
    """Ingest a range that starts at `start`; False and no change if another server already has."""
    row = session.get(JournalRow, (run, journal))
    owner = session.get(RunRow, run)
    if row is None or owner is None or row.ingested != start:
        return False
    guarded = update(JournalRow).where(JournalRow.run == run, JournalRow.name == journal, JournalRow.ingested == start)
    if num_changed(session, guarded.values(ingested=made.end)) != 1:
        return False
    if start == 0 and made.header is not None:
        _store_header(row, made.header)
    row.ingested_branch = made.branch
    row.num_damaged += made.num_damaged
    known = {str(number): [list(key) for key in keys] for number, keys in made.layouts.items()}
    if known != row.layouts:
        row.layouts = known
    _store_points(session, owner, made)
    _store_branches(session, run, made)
    for field in apply_sets(session, owner, made.sets):
        put_values(session, run, field, getattr(owner, field))
    _store_media(session, run, journal, made)
    _store_alerts(session, run, made)
    if made.output is not None:
        seen = made.output
        session.add(
            RunOutputRow(
                run=run, journal=journal, start=seen.start, end=seen.end, first=row.output_bytes, size=seen.size
            )
        )
        row.output_bytes += seen.size
    if made.finish is not None:
        row.finish = made.finish
    session.flush()
    _settle_state(session, owner)
    owner.version += 1
    return True


def put_values(session: Session, run: int, kind: str, values: Mapping[str, Any]) -> None:
    """Replace the searchable values of one kind (hparams, summary)."""
    session.execute(delete(RunValueRow).where(RunValueRow.run == run, RunValueRow.key.startswith(f"{kind}.")))
    shortened = {f"{kind}.{key}"[:MAX_KEY_CHARS]: value for key, value in flatten(values).items()}
    for key, value in list(shortened.items())[:MAX_KEYS]:
        num, text = _searchable(value)
        session.add(RunValueRow(run=run, key=key, num=num, text=text))
    session.flush()


def metric_key(key: SeriesKey) -> str:
    """Name of a metric in filters."""
    return f"metrics.{key.type}.{key.name}" if key.type else f"metrics.{key.name}"


def _store_header(row: JournalRow, header: Mapping[str, Any]) -> None:
    rank = header.get("rank")
    row.rank = rank if isinstance(rank, int) and 0 <= rank < 1 << 31 else 0
    row.writer = "companion" if header.get("writer") == "companion" else "process"
    branch = header.get("branch")
    row.branch = branch if isinstance(branch, int) and 1 <= branch < 1 << 31 else 1
    row.built_branch = row.branch


def _store_points(session: Session, run: RunRow, made: Stretch) -> None:
    if not made.points:
        return
    rows = session.scalars(select(SeriesRow).where(SeriesRow.run == run.number))
    series = {SeriesKey(row.type, row.name): row for row in rows}
    for (branch, key), points in sorted(made.points.items()):
        if not len(points):
            continue
        row = series.get(key)
        if row is None:
            row = SeriesRow(run=run.number, type=key.type, name=key.name, num_points=0, branch=0, step=0)
            series[key] = row
            session.add(row)
        _roll_up(row, branch, points)
        run.num_points += len(points)
        if key.type != SYSTEM:
            _progress(run, branch, points)
    _put_metrics(session, run.number, [series[key] for key in {key for _, key in made.points} if key in series])


def _roll_up(row: SeriesRow, branch: int, points: Points) -> None:
    row.num_points += len(points)
    if (branch, int(points.steps[-1])) >= (row.branch, row.step):
        row.branch, row.step = branch, int(points.steps[-1])
        row.at, row.last = _finite(points.times[-1]) or 0.0, _finite(points.values[-1])
        row.odd = None if row.last is not None else str(float(points.values[-1]))
        row.epoch = _finite(points.epochs[-1])
    finite = points.values[np.isfinite(points.values)]
    if len(finite):
        low, high = float(finite.min()), float(finite.max())
        row.low = low if row.low is None else min(row.low, low)
        row.high = high if row.high is None else max(row.high, high)


def _progress(run: RunRow, branch: int, points: Points) -> None:
    step = int(points.steps[-1])
    if branch < run.branch:
        return  # late data of a superseded attempt
    if branch > run.branch or run.step is None or step >= run.step:
        run.step, run.epoch = step, _finite(points.epochs[-1])
    run.branch = branch


def _put_metrics(session: Session, run: int, rows: list[SeriesRow]) -> None:
    keys = {metric_key(SeriesKey(row.type, row.name)): row for row in rows}
    known = {row.key: row for row in session.scalars(select(RunValueRow).where(RunValueRow.run == run))}
    num_metrics = sum(key.startswith("metrics.") for key in known)
    for key, row in keys.items():
        value = known.get(key)
        if value is None:
            if num_metrics >= MAX_KEYS:
                continue
            num_metrics += 1
            value = RunValueRow(run=run, key=key)
            session.add(value)
        # infinity is compared and sorted as a number; databases have no order for NaN
        last = float(row.odd) if row.odd in ("inf", "-inf") else row.last
        value.num, value.low, value.high, value.text = last, row.low, row.high, row.odd


def _store_branches(session: Session, run: int, made: Stretch) -> None:
    for branch in {*made.branches, *(branch for branch, _ in made.points)}:
        row = session.get(BranchRow, (run, branch))
        if row is None:
            row = BranchRow(run=run, branch=branch)
            session.add(row)
        said = made.branches.get(branch)
        steps = [
            int(points.steps.min())
            for (number, key), points in made.points.items()
            if number == branch and key.type != SYSTEM and len(points)
        ]
        if said is not None:
            row.said_step = said
        if steps:
            row.first_step = min(steps) if row.first_step is None else min(row.first_step, *steps)


def _store_media(session: Session, run: int, journal: str, made: Stretch) -> None:
    session.add_all(MediaRow(run=run, journal=journal, **seen._asdict()) for seen in made.media)


def _store_alerts(session: Session, run: int, made: Stretch) -> None:
    room = MAX_ALERTS - run_alerts.num_of(session, run) if made.alerts else 0
    session.add_all(
        RunAlertRow(run=run, state=run_alerts.WAITING, **seen._asdict()) for seen in made.alerts[: max(0, room)]
    )


def ends_of(journals: Sequence[JournalRow]) -> list[Ended]:
    """Recorded ends of journals."""
    return [
        Ended(
            journal.branch,
            journal.writer,
            journal.rank,
            _state(journal.finish),
            float(journal.finish.get("time") or 0.0),
            str(journal.finish.get("reason") or ""),
        )
        for journal in journals
        if journal.finish is not None
    ]


def _settle_state(session: Session, run: RunRow) -> None:
    """Update the run's state from its journals. A run that died continues when new data arrives."""
    journals = journals_of(session, run.number)
    newest = max((journal.branch for journal in journals), default=1)
    end = run_end(newest, ends_of(journals))
    run.branch = max(run.branch, newest)
    if end is not None:
        run.state, run.ended_at = end.state.value, _moment(end.at, run.seen_at)
    elif run.state != RunState.RUNNING.value and not run.is_own:
        run.state, run.ended_at = RunState.RUNNING.value, None


def _state(finish: Mapping[str, Any]) -> RunState:
    known = {state.value: state for state in RunState if state is not RunState.RUNNING}
    return known.get(str(finish.get("state")), RunState.FINISHED)


def _moment(seconds: float, otherwise: datetime) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc) if seconds > 0 else otherwise
    except (OverflowError, ValueError, OSError):
        return otherwise


def _finite(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None


def _searchable(value: Any) -> tuple[float | None, str | None]:
    """Number and text form for comparisons; booleans have both."""
    if isinstance(value, bool):
        return float(value), str(value).lower()
    if isinstance(value, (int, float)):
        try:
            return _finite(value), None
        except OverflowError:
            return None, str(value)[:500]
    return None, str(value)[:500]
