"""Alerts in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from danlu.store.sql.monitoring_tables import AlertRow
from danlu.store.sql.run_tables import RunRow, SeriesRow
from danlu.store.sql.tables import LogMarkRow

CHUNK = 400


class OddSeries(NamedTuple):
    """A metric whose last value is not finite."""

    job_id: str
    run: str
    name: str
    value: str
    step: int


def add_alert(session: Session, row: AlertRow) -> None:
    session.add(row)
    session.flush()


def open_alerts(session: Session) -> Sequence[AlertRow]:
    return session.scalars(select(AlertRow).where(AlertRow.closed_at.is_(None)).order_by(AlertRow.id)).all()


def close_alert(session: Session, row: AlertRow, at: datetime) -> None:
    row.closed_at = at
    session.flush()


def list_alerts(
    session: Session,
    project_ids: Sequence[int] | None,
    *,
    job_id: str | None,
    is_open: bool | None,
    before: int | None,
    limit: int,
) -> Sequence[AlertRow]:
    """Alerts, newest first: those of these projects, or for None all, including the platform's."""
    query = select(AlertRow).order_by(AlertRow.id.desc()).limit(limit)
    if project_ids is not None:
        query = query.where(AlertRow.project_id.in_(project_ids))
    if job_id is not None:
        query = query.where(AlertRow.job_id == job_id)
    if is_open is not None:
        query = query.where(AlertRow.closed_at.is_(None) if is_open else AlertRow.closed_at.is_not(None))
    if before is not None:
        query = query.where(AlertRow.id < before)
    return session.scalars(query).all()


def open_by_kind(session: Session) -> dict[str, int]:
    query = select(AlertRow.kind, func.count()).where(AlertRow.closed_at.is_(None)).group_by(AlertRow.kind)
    return dict(session.execute(query).all())


def forget_alerts(session: Session, before: datetime) -> None:
    """Delete alerts that were closed before this time."""
    session.execute(delete(AlertRow).where(AlertRow.closed_at < before))


def last_log_time(session: Session, job_id: str, attempt: int, *, rank: int) -> datetime | None:
    """When new output of a task was last recorded; None before its first byte."""
    query = select(LogMarkRow.at).where(
        LogMarkRow.job_id == job_id, LogMarkRow.attempt == attempt, LogMarkRow.rank == rank
    )
    return session.scalar(query.order_by(LogMarkRow.offset.desc()).limit(1))


def last_metric_times(session: Session, job_ids: Sequence[str], *, without: str) -> dict[str, float]:
    """Job -> time of the newest point of its runs, in seconds since 1970; metrics of type `without` do not count.

    Runs in the trash do: a script that still records to one is not silent.
    """
    found: dict[str, float] = {}
    for first in range(0, len(job_ids), CHUNK):
        query = (
            select(RunRow.job_id, func.max(SeriesRow.at))
            .join(SeriesRow, SeriesRow.run == RunRow.number)
            .where(RunRow.job_id.in_(job_ids[first : first + CHUNK]), SeriesRow.type != without)
            .group_by(RunRow.job_id)
        )
        found.update({job: at for job, at in session.execute(query) if job is not None})
    return found


def odd_losses(session: Session, since: Mapping[str, datetime], *, without: str) -> list[OddSeries]:
    """Metrics `*loss*` and `perplexity` of runs of these jobs whose last value is not finite.

    `since`: job -> time; older values do not count, such as those of an earlier attempt, which the next one continues.
    """
    found: list[OddSeries] = []
    job_ids = list(since)
    for first in range(0, len(job_ids), CHUNK):
        query = (
            select(RunRow.job_id, RunRow.id, SeriesRow)
            .join(SeriesRow, SeriesRow.run == RunRow.number)
            .where(
                RunRow.job_id.in_(job_ids[first : first + CHUNK]),
                RunRow.deleted_at.is_(None),
                SeriesRow.type != without,
                SeriesRow.odd.is_not(None),
                or_(func.lower(SeriesRow.name).like("%loss%"), func.lower(SeriesRow.name) == "perplexity"),
            )
            .order_by(RunRow.number, SeriesRow.id)
        )
        found += [
            OddSeries(job, run, series.name, series.odd or "", series.step)
            for job, run, series in session.execute(query)
            if job is not None and series.at >= since[job].timestamp()
        ]
    return found
