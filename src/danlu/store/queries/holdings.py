"""Resources that attempts hold, now and over time, in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import JSON, func, or_, select
from sqlalchemy.orm import Session

from danlu.store.queries.attempts import LIVE
from danlu.store.sql.tables import AttemptRow, DeviceClaimRow, JobRow, TaskRow

ROWS_AT_ONCE = 1000
Used = dict[tuple[int, bool], dict[str, float]]
"""(owner, is preemptible) -> resource -> amount."""


class Held(NamedTuple):
    """One attempt of a job with a price."""

    job_id: str
    project_id: int
    owner_id: int
    terms: dict[str, Any]
    started_at: datetime
    ended_at: datetime | None


class HeldTask(NamedTuple):
    """Resources that one task held during its attempt."""

    job_id: str
    name: str
    project_id: int
    owner_id: int
    attempt: int
    rank: int
    node: str
    device_ids: list[int]
    cpus: float
    memory_bytes: int
    started_at: datetime
    ended_at: datetime | None


def of_project(session: Session, project_id: int) -> Used:
    preemptible = func.coalesce(JobRow.spec["preemptible"].as_boolean(), False)
    found: Used = {}
    devices = (
        select(JobRow.owner_id, preemptible, DeviceClaimRow.type, func.count())
        .join(DeviceClaimRow, DeviceClaimRow.job_id == JobRow.id)
        .where(JobRow.project_id == project_id)
        .group_by(JobRow.owner_id, preemptible, DeviceClaimRow.type)
    )
    for owner_id, is_preemptible, kind, count in session.execute(devices):
        found.setdefault((owner_id, bool(is_preemptible)), {})[kind] = float(count)
    others = (
        select(JobRow.owner_id, preemptible, func.sum(TaskRow.cpus), func.sum(TaskRow.memory_bytes))
        .join(TaskRow, TaskRow.job_id == JobRow.id)
        .join(AttemptRow, (AttemptRow.job_id == TaskRow.job_id) & (AttemptRow.number == TaskRow.attempt))
        .where(JobRow.project_id == project_id, AttemptRow.state.in_(LIVE))
        .group_by(JobRow.owner_id, preemptible)
    )
    for owner_id, is_preemptible, cpus, memory_bytes in session.execute(others):
        amounts = found.setdefault((owner_id, bool(is_preemptible)), {})
        amounts.update({name: float(value) for name, value in (("cpus", cpus), ("memory", memory_bytes)) if value})
    return {key: amounts for key, amounts in found.items() if amounts}


def held_between(session: Session, since: datetime | None, until: datetime) -> Iterator[Held]:
    """Attempts of jobs with a price that overlap with a period, grouped by job."""
    query = (
        select(JobRow.id, JobRow.project_id, JobRow.owner_id, JobRow.terms, AttemptRow.started_at, AttemptRow.ended_at)
        .join(AttemptRow, AttemptRow.job_id == JobRow.id)
        .where(JobRow.terms.is_not(None), JobRow.terms != JSON.NULL)
        .where(AttemptRow.started_at.is_not(None), AttemptRow.started_at < until)
        .order_by(JobRow.id)
        .execution_options(yield_per=ROWS_AT_ONCE)
    )
    if since is not None:
        query = query.where(or_(AttemptRow.ended_at.is_(None), AttemptRow.ended_at > since))
    for row in session.execute(query):
        yield Held(*row)


def tasks_between(
    session: Session, since: datetime, until: datetime, *, skip: int = 0, limit: int
) -> Sequence[HeldTask]:
    """Tasks whose attempts overlap with a period, the last started first."""
    query = (
        select(
            JobRow.id,
            JobRow.name,
            JobRow.project_id,
            JobRow.owner_id,
            TaskRow.attempt,
            TaskRow.rank,
            TaskRow.node,
            TaskRow.device_ids,
            TaskRow.cpus,
            TaskRow.memory_bytes,
            AttemptRow.started_at,
            AttemptRow.ended_at,
        )
        .join(AttemptRow, AttemptRow.job_id == JobRow.id)
        .join(TaskRow, (TaskRow.job_id == AttemptRow.job_id) & (TaskRow.attempt == AttemptRow.number))
        .where(AttemptRow.started_at <= until)
        .where(or_(AttemptRow.ended_at.is_(None), AttemptRow.ended_at > since))
        .order_by(AttemptRow.started_at.desc(), JobRow.id, TaskRow.attempt, TaskRow.rank)
        .offset(skip)
        .limit(limit)
    )
    return [HeldTask(*row) for row in session.execute(query)]
