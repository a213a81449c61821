"""Runs as users see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from danlu.spec.messages.catalogue import recognise_end
from danlu.spec.runs import SYSTEM, RunState, run_end
from danlu.store.metrics.ingest import ends_of
from danlu.store.metrics.journals import journals_of
from danlu.store.metrics.points import Points, over
from danlu.store.metrics.reading import Lines
from danlu.store.queries import people, runs
from danlu.store.queries.monitoring.run_alerts import TOLD
from danlu.store.sql.run_tables import MediaRow, RunAlertRow, RunRow, SeriesRow
from danlu.wire.runs import (
    BranchOut,
    EnvironmentOut,
    HiddenLine,
    JournalOut,
    MediaOut,
    MetricOut,
    RunAlertOut,
    RunOut,
    RunSummary,
    SeriesPoints,
)

MAX_METRICS = 50
"""Most metrics in a row of a list."""


def skipped_out(session: Session, row: RunRow) -> RunOut:
    """An existing run that a job's upload was skipped for, without its content: the job may not see it."""
    full = run_out(session, row)
    kept = {"id", "name", "project", "folder", "owner", "state", "created_at", "started_at", "seen_at"}
    return RunOut.model_validate(full.model_dump(include=kept))


def rows_out(session: Session, rows: Sequence[RunRow]) -> list[RunSummary]:
    """Runs for a list, with three queries for all of them. Points are not touched."""
    projects = people.projects_by_id(session)
    owners = people.names_of_users(session, {row.owner_id for row in rows})
    metrics = runs.rolled_up(session, [row.number for row in rows], without=SYSTEM, most=MAX_METRICS)
    return [
        RunSummary.model_construct(
            **_common(row, projects, owners), metrics=[_rolled_up(one) for one in metrics[row.number]]
        )
        for row in rows
    ]


def run_out(session: Session, row: RunRow) -> RunOut:
    """A run in full."""
    projects = people.projects_by_id(session)
    owners = people.names_of_users(session, {row.owner_id})
    journals = journals_of(session, row.number)
    end = run_end(row.branch, ends_of(journals))
    reason = end.reason if end is not None and row.state == end.state.value else ""
    metrics = runs.rolled_up(session, [row.number], without=SYSTEM, most=MAX_METRICS)[row.number]
    return RunOut(
        **_common(row, projects, owners),
        metrics=[_rolled_up(one) for one in metrics],
        description=row.description,
        environment=_brief_environment(row),
        num_parts=runs.num_parts(session, row),
        axes={key: value for key, value in row.axes.items() if isinstance(value, str)},
        seen_at=row.seen_at,
        reason=reason,
        said=recognise_end(reason) if reason else None,
        journals=[
            JournalOut(
                name=journal.name,
                writer=journal.writer,
                branch=journal.branch,
                offset=journal.offset,
                output_bytes=journal.output_bytes,
            )
            for journal in journals
        ],
        branches=[
            BranchOut(branch=number, from_step=begin) for number, begin in runs.branches_of(session, row.number).items()
        ],
    )


def environment_out(row: RunRow) -> EnvironmentOut:
    """Everything that was captured. The journal is written by clients and may contain anything."""
    git, packages = row.info.get("git"), row.info.get("packages")
    git = dict(git) if isinstance(git, dict) else {}
    diff = git.pop("diff", "")
    return EnvironmentOut(
        environment={key: value for key, value in row.info.items() if key not in ("git", "packages")},
        packages={name: str(version) for name, version in packages.items()} if isinstance(packages, dict) else {},
        git=git,
        diff=diff if isinstance(diff, str) else "",
    )


def _brief_environment(row: RunRow) -> dict[str, Any]:
    """The part that a page about the run shows at once: it is loaded again with each change."""
    found = environment_out(row)
    more = {"git": found.git, "num_packages": len(found.packages)}
    return {**found.environment, **{key: value for key, value in more.items() if value}}


def metric_out(row: SeriesRow) -> MetricOut:
    return MetricOut(
        type=row.type,
        name=row.name,
        num_points=row.num_points,
        step=row.step,
        epoch=row.epoch,
        last=row.last,
        odd=row.odd,
        low=row.low,
        high=row.high,
    )


def media_out(row: MediaRow) -> MediaOut:
    return MediaOut(
        id=f"{row.journal}:{row.start}",
        kind=row.kind,
        type=row.type,
        name=row.name,
        format=row.format,
        step=row.step,
        epoch=row.epoch,
        time=row.at,
    )


def alert_out(row: RunAlertRow) -> RunAlertOut:
    return RunAlertOut(
        id=row.number,
        title=row.title,
        text=row.text,
        level=row.level,
        step=row.step,
        time=row.at,
        is_told=row.state == TOLD,
    )


def series_out(run_id: str, series: SeriesRow, lines: Lines) -> SeriesPoints:
    hidden = [HiddenLine(branch=branch, **_columns(points)) for branch, points in sorted(lines.hidden.items())]
    return SeriesPoints.model_construct(
        run=run_id,
        type=series.type,
        name=series.name,
        num_points=lines.num_points,
        hidden=hidden,
        **_columns(lines.main),
    )


def placed_over(shown: SeriesPoints, axis: Points, *, name: str) -> SeriesPoints:
    """A series in the order of another one, with its positions there."""
    nans = [np.nan if one is None else one for one in shown.epoch]
    values = [np.nan if one is None else one for one in shown.value]
    points = Points(np.array(shown.step, np.int64), np.array(shown.time), np.array(nans), np.array(values))
    placed, places = over(points, axis)
    update = {**_columns(placed), "x": places.tolist(), "axis": name, "hidden": []}
    return shown.model_copy(update=update)


def _columns(points: Points) -> dict[str, Any]:
    return {
        "step": points.steps.tolist(),
        "epoch": _nullable(points.epochs),
        "time": np.nan_to_num(points.times).tolist(),
        "value": _nullable(points.values),
    }


def _nullable(values: np.ndarray) -> list[object]:
    """Replace NaN and infinity, which JSON does not have, by None."""
    is_finite = np.isfinite(values)
    if is_finite.all():
        found: list[object] = values.tolist()
        return found
    return [value if fine else None for value, fine in zip(values.tolist(), is_finite.tolist(), strict=True)]


def _rolled_up(row: runs.RolledUp) -> MetricOut:
    return MetricOut.model_construct(**row._asdict())


def _common(row: RunRow, projects: Mapping[int, str], owners: Mapping[int, str]) -> dict[str, Any]:
    progress = None
    if row.total_steps and row.step is not None:
        progress = min(1.0, max(0.0, row.step / row.total_steps))
    return {
        "id": row.id,
        "name": row.name,
        "project": projects[row.project_id],
        "folder": row.folder,
        "owner": owners[row.owner_id],
        "state": RunState(row.state),
        "job": row.job_id,
        "attempt": row.attempt,
        "is_own": row.is_own,
        "group": row.group,
        "parent": row.parent,
        "labels": row.labels,
        "hparams": row.hparams,
        "summary": row.summary,
        "step": row.step,
        "epoch": row.epoch,
        "total_steps": row.total_steps,
        "progress": progress,
        "num_points": row.num_points,
        "created_at": row.created_at,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "deleted_at": row.deleted_at,
    }
