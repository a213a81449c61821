"""Counts of jobs and users, for monitoring."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from danlu.spec.states import JobState
from danlu.store.queries.jobs import LIVE
from danlu.store.sql.tables import AttemptRow, JobRow, ProjectRow, UserRow


class Waiting(NamedTuple):
    project: str
    num_jobs: int
    oldest_at: datetime


class LiveRow(NamedTuple):
    """A job that holds resources."""

    id: str
    name: str
    project: str
    owner: str
    state: str
    started_at: datetime


def jobs_by_state(session: Session) -> dict[str, int]:
    """State -> number of jobs; read from an index."""
    query = select(JobRow.state, func.count()).group_by(JobRow.state)
    return dict(session.execute(query).all())


def queue_by_project(session: Session) -> list[Waiting]:
    query = (
        select(ProjectRow.name, func.count(), func.min(JobRow.queued_at))
        .select_from(JobRow)
        .join(ProjectRow, ProjectRow.id == JobRow.project_id)
        .where(JobRow.state == JobState.QUEUED.value)
        .group_by(ProjectRow.name)
        .order_by(ProjectRow.name)
    )
    return [Waiting(*row) for row in session.execute(query)]


def queue_by_reason(session: Session) -> dict[str, int]:
    query = select(JobRow.reason_code, func.count()).where(JobRow.state == JobState.QUEUED.value)
    return dict(session.execute(query.group_by(JobRow.reason_code)).all())


def live_by_project(session: Session) -> dict[str, int]:
    """Project -> number of jobs that hold resources."""
    query = (
        select(ProjectRow.name, func.count())
        .select_from(JobRow)
        .join(ProjectRow, ProjectRow.id == JobRow.project_id)
        .where(JobRow.state.in_(LIVE))
    )
    return dict(session.execute(query.group_by(ProjectRow.name)).all())


def live_jobs(session: Session, most: int) -> list[LiveRow]:
    """Jobs that hold resources, at most `most`, newest first."""
    query = (
        select(JobRow.id, JobRow.name, ProjectRow.name, UserRow.name, JobRow.state, AttemptRow.started_at)
        .join(ProjectRow, ProjectRow.id == JobRow.project_id)
        .join(UserRow, UserRow.id == JobRow.owner_id)
        .join(AttemptRow, (AttemptRow.job_id == JobRow.id) & (AttemptRow.number == JobRow.attempt))
        .where(JobRow.state.in_(LIVE))
        .order_by(JobRow.id.desc())
        .limit(most)
    )
    return [LiveRow(*row) for row in session.execute(query)]


def users_by_activity(session: Session) -> dict[bool, int]:
    """Whether they are active -> number of users."""
    query = select(UserRow.is_active, func.count()).group_by(UserRow.is_active)
    return dict(session.execute(query).all())
