"""Queries for event streams: a few columns of many rows at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar

from sqlalchemy import or_, select, tuple_
from sqlalchemy.orm import Session

from danlu.spec.states import JobState, is_over
from danlu.store.sql.run_tables import RunRow
from danlu.store.sql.tables import ApiKeyRow, JobRow, MemberRow, SessionRow, TaskRow, UserRow

T = TypeVar("T")
AT_ONCE = 500


class Followed(NamedTuple):
    """The state of a job or a run."""

    id: str
    version: int
    state: str
    attempt: int
    """The newest attempt of a job; 0 for runs."""

    project_id: int


class FollowedTask(NamedTuple):
    rank: int
    state: str
    log_bytes: int


class FollowedUser(NamedTuple):
    id: int
    name: str
    is_admin: bool


def jobs_now(session: Session, ids: Collection[str]) -> dict[str, Followed]:
    """The existing jobs among these, by id."""
    columns = (JobRow.id, JobRow.version, JobRow.state, JobRow.attempt, JobRow.project_id)
    query = select(*columns)
    return {row.id: Followed(*row) for part in _parts(ids) for row in session.execute(query.where(JobRow.id.in_(part)))}


def runs_now(session: Session, ids: Collection[str]) -> dict[str, Followed]:
    """The existing runs among these, by id."""
    query = select(RunRow.id, RunRow.version, RunRow.state, RunRow.project_id)
    return {
        row.id: Followed(row.id, row.version, row.state, 0, row.project_id)
        for part in _parts(ids)
        for row in session.execute(query.where(RunRow.id.in_(part)))
    }


def tasks_now(session: Session, keys: Collection[tuple[str, int]]) -> dict[tuple[str, int], list[FollowedTask]]:
    """The tasks of the named attempts."""
    query = select(TaskRow.job_id, TaskRow.attempt, TaskRow.rank, TaskRow.state, TaskRow.log_bytes)
    found: dict[tuple[str, int], list[FollowedTask]] = {}
    for part in _parts(keys):
        for row in session.execute(query.where(tuple_(TaskRow.job_id, TaskRow.attempt).in_(part))):
            found.setdefault((row.job_id, row.attempt), []).append(FollowedTask(row.rank, row.state, row.log_bytes))
    return found


def open_jobs(session: Session) -> dict[str, tuple[int, int]]:
    """Version and project of all active jobs, by id."""
    states = [state.value for state in JobState if not is_over(state)]
    query = select(JobRow.id, JobRow.version, JobRow.project_id).where(JobRow.state.in_(states))
    return {row.id: (row.version, row.project_id) for row in session.execute(query)}


def active_users(session: Session, ids: Collection[int]) -> dict[int, FollowedUser]:
    query = select(UserRow.id, UserRow.name, UserRow.is_admin).where(UserRow.is_active.is_(True))
    return {
        row.id: FollowedUser(*row) for part in _parts(ids) for row in session.execute(query.where(UserRow.id.in_(part)))
    }


def roles_of(session: Session, user_ids: Collection[int]) -> dict[int, dict[int, str]]:
    """User -> project -> role."""
    query = select(MemberRow.user_id, MemberRow.project_id, MemberRow.role)
    found: dict[int, dict[int, str]] = {}
    for part in _parts(user_ids):
        for row in session.execute(query.where(MemberRow.user_id.in_(part))):
            found.setdefault(row.user_id, {})[row.project_id] = row.role
    return found


def keys_valid_at(session: Session, ids: Collection[str], now: datetime) -> set[str]:
    query = select(ApiKeyRow.id).where(or_(ApiKeyRow.expires_at.is_(None), ApiKeyRow.expires_at > now))
    return {found for part in _parts(ids) for found in session.scalars(query.where(ApiKeyRow.id.in_(part)))}


def sessions_valid_at(session: Session, user_ids: Collection[int], now: datetime) -> list[tuple[int, str]]:
    """User and digest of all valid browser sessions of these users."""
    query = select(SessionRow.user_id, SessionRow.digest).where(SessionRow.expires_at > now)
    return [
        (row.user_id, row.digest)
        for part in _parts(user_ids)
        for row in session.execute(query.where(SessionRow.user_id.in_(part)))
    ]


def _parts(items: Collection[T]) -> Iterator[Sequence[T]]:
    """Split items into parts, because SQLite limits the number of values in a statement."""
    ordered = list(items)
    return (ordered[first : first + AT_ONCE] for first in range(0, len(ordered), AT_ONCE))
