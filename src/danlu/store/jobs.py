"""Jobs in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, delete, or_, select, update
from sqlalchemy.orm import Session

from danlu.spec.reasons import Reason
from danlu.spec.states import Desired, JobState
from danlu.store.database import num_changed
from danlu.store.tables import AttemptRow, DeviceClaimRow, EventRow, JobRow, TaskRow

LIVE = (JobState.STARTING.value, JobState.RUNNING.value, JobState.STOPPING.value)


@dataclass(frozen=True, slots=True)
class JobFilter:
    project_ids: Sequence[int] | None = None
    """None: of all projects."""

    states: Sequence[JobState] = ()
    name: str | None = None
    tags: Sequence[tuple[str, str]] = ()


def add_job(session: Session, row: JobRow) -> None:
    session.add(row)
    session.flush()


def get_job(session: Session, job_id: str) -> JobRow | None:
    return session.get(JobRow, job_id)


def jobs_by_id(session: Session, ids: Sequence[str]) -> dict[str, JobRow]:
    return {row.id: row for first in range(0, len(ids), 500) for row in _chunk(session, ids[first : first + 500])}


def newest_by_name(session: Session, name: str, project_ids: Sequence[int] | None) -> JobRow | None:
    query = select(JobRow).where(JobRow.name == name).order_by(JobRow.id.desc()).limit(1)
    if project_ids is not None:
        query = query.where(JobRow.project_id.in_(project_ids))
    return session.scalar(query)


def by_request_id(session: Session, owner_id: int, request_id: str) -> JobRow | None:
    return session.scalar(select(JobRow).where(JobRow.owner_id == owner_id, JobRow.request_id == request_id))


def list_jobs(session: Session, wanted: JobFilter, *, before: str | None, limit: int) -> Sequence[JobRow]:
    """Newest first, those older than the job `before`."""
    query = select(JobRow).order_by(JobRow.id.desc()).limit(limit)
    if before is not None:
        query = query.where(JobRow.id < before)
    if wanted.project_ids is not None:
        query = query.where(JobRow.project_id.in_(wanted.project_ids))
    if wanted.states:
        query = query.where(JobRow.state.in_([state.value for state in wanted.states]))
    if wanted.name is not None:
        query = query.where(JobRow.name == wanted.name)
    for key, value in wanted.tags:
        query = query.where(JobRow.spec["tags"][key].as_string() == value)
    return session.scalars(query).all()


def set_desired(session: Session, ids: Sequence[str], desired: Desired) -> None:
    """Write intent. The scheduler acts on it."""
    for first in range(0, len(ids), 500):
        session.execute(
            update(JobRow)
            .where(JobRow.id.in_(ids[first : first + 500]))
            .values(desired=desired.value, version=JobRow.version + 1)
        )


def move_job(
    session: Session, job: JobRow, state: JobState, why: Reason, *, lock_token: str | None = None, **changes: Any
) -> bool:
    """Change a job's state if it is still as it was read, and is claimed by `lock_token` when one is given."""
    guards: list[ColumnElement[bool]] = [JobRow.id == job.id, JobRow.version == job.version]
    if lock_token is not None:
        guards.append(JobRow.lock_token == lock_token)
    statement = update(JobRow).where(*guards)
    values = {"state": state.value, "reason_code": why.code, "reason_message": why.message, **changes}
    return num_changed(session, statement.values(version=JobRow.version + 1, **values)) == 1


def set_reason(session: Session, job_id: str, why: Reason) -> None:
    """Say why a queued job waits; quiet when it says so already."""
    session.execute(
        update(JobRow)
        .where(
            JobRow.id == job_id,
            JobRow.state == JobState.QUEUED.value,
            or_(JobRow.reason_code != why.code, JobRow.reason_message != why.message),
        )
        .values(reason_code=why.code, reason_message=why.message, version=JobRow.version + 1)
    )


def claim(session: Session, states: Sequence[str], *, token: str, now: datetime, seconds: float) -> Sequence[JobRow]:
    """Take the jobs in these states that nobody else works on, and return all that are ours."""
    session.execute(
        update(JobRow)
        .where(
            JobRow.state.in_(states),
            or_(JobRow.lock_token.is_(None), JobRow.lock_token == token, JobRow.lock_expires_at < now),
        )
        .values(lock_token=token, lock_expires_at=now + timedelta(seconds=seconds))
    )
    return session.scalars(select(JobRow).where(JobRow.state.in_(states), JobRow.lock_token == token)).all()


def release(session: Session, token: str) -> None:
    """Give up all claims, so that another server goes on at once."""
    session.execute(update(JobRow).where(JobRow.lock_token == token).values(lock_token=None, lock_expires_at=None))


def delete_jobs(session: Session, ids: Sequence[str]) -> None:
    for first in range(0, len(ids), 500):
        part = ids[first : first + 500]
        for table in (TaskRow, EventRow, DeviceClaimRow, AttemptRow):
            session.execute(delete(table).where(table.job_id.in_(part)))
        session.execute(delete(JobRow).where(JobRow.id.in_(part)))


def add_event(session: Session, job_id: str, attempt: int, *, kind: str, message: str, at: datetime) -> None:
    session.add(EventRow(job_id=job_id, attempt=attempt, at=at, kind=kind, message=message))


def list_events(session: Session, job_id: str, *, after: int, limit: int) -> Sequence[EventRow]:
    query = select(EventRow).where(EventRow.job_id == job_id, EventRow.id > after)
    return session.scalars(query.order_by(EventRow.id).limit(limit)).all()


def _chunk(session: Session, ids: Sequence[str]) -> Sequence[JobRow]:
    return session.scalars(select(JobRow).where(JobRow.id.in_(ids))).all()
