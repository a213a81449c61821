"""Attempts, their tasks and the devices they hold, in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import delete, select, tuple_, update
from sqlalchemy.orm import Session

from danlu.spec.reasons import Reason
from danlu.spec.states import ATTEMPT_NEXT, AttemptState
from danlu.store.sql.database import num_changed
from danlu.store.sql.tables import AttemptRow, DeviceClaimRow, JobRow, TaskRow

LIVE = tuple(state.value for state in ATTEMPT_NEXT)
CHUNK = 500
"""Maximum number of keys in one statement."""


def add_attempt(session: Session, attempt: AttemptRow, tasks: Sequence[TaskRow], device_types: Sequence[str]) -> None:
    """Store an attempt with its tasks and claim its devices, one type per task.

    Raise IntegrityError if a device is in use.
    """
    session.add(attempt)
    session.add_all(tasks)
    session.add_all(
        DeviceClaimRow(
            node=task.node,
            type=device_type,
            device_id=device_id,
            job_id=task.job_id,
            attempt=task.attempt,
            rank=task.rank,
        )
        for task, device_type in zip(tasks, device_types, strict=True)
        for device_id in task.device_ids
    )
    session.flush()


def get_attempt(session: Session, job_id: str, number: int) -> AttemptRow | None:
    return session.get(AttemptRow, (job_id, number))


def attempts_of(session: Session, job_id: str) -> Sequence[AttemptRow]:
    return session.scalars(select(AttemptRow).where(AttemptRow.job_id == job_id).order_by(AttemptRow.number)).all()


def attempts_by_key(session: Session, keys: Sequence[tuple[str, int]]) -> dict[str, AttemptRow]:
    """The named attempts by job id."""
    found: dict[str, AttemptRow] = {}
    for first in range(0, len(keys), CHUNK):
        named = tuple_(AttemptRow.job_id, AttemptRow.number).in_(keys[first : first + CHUNK])
        found.update((row.job_id, row) for row in session.scalars(select(AttemptRow).where(named)))
    return found


def by_token(session: Session, digest: str) -> AttemptRow | None:
    return session.scalar(select(AttemptRow).where(AttemptRow.token_digest == digest))


def tasks_of(session: Session, job_id: str) -> Sequence[TaskRow]:
    query = select(TaskRow).where(TaskRow.job_id == job_id)
    return session.scalars(query.order_by(TaskRow.attempt, TaskRow.rank)).all()


def tasks_by_key(session: Session, keys: Sequence[tuple[str, int]]) -> dict[str, list[TaskRow]]:
    """The tasks of the named attempts by job id, in rank order."""
    found: dict[str, list[TaskRow]] = {}
    for first in range(0, len(keys), CHUNK):
        named = tuple_(TaskRow.job_id, TaskRow.attempt).in_(keys[first : first + CHUNK])
        for row in session.scalars(select(TaskRow).where(named).order_by(TaskRow.rank)):
            found.setdefault(row.job_id, []).append(row)
    return found


def live_tasks(session: Session) -> Sequence[TaskRow]:
    """All tasks of attempts that have not ended."""
    query = select(TaskRow).join(
        AttemptRow, (AttemptRow.job_id == TaskRow.job_id) & (AttemptRow.number == TaskRow.attempt)
    )
    return session.scalars(query.where(AttemptRow.state.in_(LIVE))).all()


def held_times(session: Session, ids: Sequence[str]) -> dict[str, list[tuple[datetime, datetime | None]]]:
    """Job id -> start and end of its attempts; the end is None while devices are held."""
    found: dict[str, list[tuple[datetime, datetime | None]]] = {}
    for first in range(0, len(ids), 500):
        query = select(AttemptRow.job_id, AttemptRow.started_at, AttemptRow.ended_at)
        for row in session.execute(query.where(AttemptRow.job_id.in_(ids[first : first + 500]))):
            found.setdefault(row.job_id, []).append((row.started_at, row.ended_at))
    return found


class LiveAttempt(NamedTuple):
    """A live attempt, with the columns that the scheduler needs."""

    job_id: str
    number: int
    state: str
    is_started: bool
    started_at: datetime
    project_id: int
    owner_id: int
    desired: str


class LiveTask(NamedTuple):
    """Resources of a task."""

    job_id: str
    rank: int
    node: str
    cpus: float
    memory_bytes: int
    started_at: datetime | None


def live_attempts(session: Session) -> list[LiveAttempt]:
    query = select(
        AttemptRow.job_id,
        AttemptRow.number,
        AttemptRow.state,
        AttemptRow.is_started,
        AttemptRow.started_at,
        JobRow.project_id,
        JobRow.owner_id,
        JobRow.desired,
    ).join(JobRow, JobRow.id == AttemptRow.job_id)
    return [LiveAttempt(*row) for row in session.execute(query.where(AttemptRow.state.in_(LIVE)))]


def tasks_in_use(session: Session) -> list[LiveTask]:
    """The tasks of attempts that have not ended."""
    columns = [getattr(TaskRow, name) for name in LiveTask._fields]
    query = select(*columns).join(
        AttemptRow, (AttemptRow.job_id == TaskRow.job_id) & (AttemptRow.number == TaskRow.attempt)
    )
    return [LiveTask(*row) for row in session.execute(query.where(AttemptRow.state.in_(LIVE)))]


def held_by_key(session: Session, keys: Sequence[tuple[str, int]]) -> dict[str, list[LiveTask]]:
    """Resources of the tasks of the named attempts by job id, in rank order."""
    columns = [getattr(TaskRow, name) for name in LiveTask._fields]
    found: dict[str, list[LiveTask]] = {}
    for first in range(0, len(keys), CHUNK):
        named = tuple_(TaskRow.job_id, TaskRow.attempt).in_(keys[first : first + CHUNK])
        for row in session.execute(select(*columns).where(named).order_by(TaskRow.rank)):
            found.setdefault(row.job_id, []).append(LiveTask(*row))
    return found


def ports_by_key(session: Session, keys: Sequence[tuple[str, int]]) -> dict[str, dict[int, frozenset[int]]]:
    """Job id -> rank -> allotted ports of the node's own network; without attempts that have a private network."""
    found: dict[str, dict[int, frozenset[int]]] = {}
    for first in range(0, len(keys), CHUNK):
        named = tuple_(AttemptRow.job_id, AttemptRow.number).in_(keys[first : first + CHUNK])
        for job_id, placement in session.execute(select(AttemptRow.job_id, AttemptRow.placement).where(named)):
            if not placement.get("has_own_network", True):
                ports = {task["rank"]: {task.get("port", 0)} for task in placement["tasks"]}
                ports[0].add(placement["master_port"])
                found[job_id] = {rank: frozenset(used - {0}) for rank, used in ports.items()}
    return found


class Claim(NamedTuple):
    """A device in use."""

    job_id: str
    rank: int
    node: str
    type: str
    device_id: int


def claims_by_key(session: Session, keys: Sequence[tuple[str, int]]) -> Iterator[Claim]:
    """The devices of the named attempts."""
    columns = [getattr(DeviceClaimRow, name) for name in Claim._fields]
    for first in range(0, len(keys), CHUNK):
        named = tuple_(DeviceClaimRow.job_id, DeviceClaimRow.attempt).in_(keys[first : first + CHUNK])
        yield from (Claim(*row) for row in session.execute(select(*columns).where(named)))


def device_claims(session: Session) -> Sequence[DeviceClaimRow]:
    return session.scalars(select(DeviceClaimRow)).all()


def with_logs_older_than(session: Session, moment: datetime, limit: int) -> Sequence[AttemptRow]:
    """Attempts that ended before `moment` and still have logs."""
    query = select(AttemptRow).where(AttemptRow.has_logs, AttemptRow.ended_at < moment).limit(limit)
    return session.scalars(query).all()


def mark_without_logs(session: Session, attempt: AttemptRow) -> None:
    session.execute(
        update(AttemptRow)
        .where(AttemptRow.job_id == attempt.job_id, AttemptRow.number == attempt.number)
        .values(has_logs=False)
    )


def mark_started(session: Session, job_id: str, number: int) -> None:
    session.execute(
        update(AttemptRow).where(AttemptRow.job_id == job_id, AttemptRow.number == number).values(is_started=True)
    )


def change_task(session: Session, task: TaskRow, **changes: Any) -> None:
    session.execute(
        update(TaskRow)
        .where(TaskRow.job_id == task.job_id, TaskRow.attempt == task.attempt, TaskRow.rank == task.rank)
        .values(**changes)
    )


def move_attempt(session: Session, attempt: AttemptRow, state: AttemptState, why: Reason, **changes: Any) -> bool:
    """Change an attempt's state if it is still that of the row; return whether it was."""
    statement = update(AttemptRow).where(
        AttemptRow.job_id == attempt.job_id, AttemptRow.number == attempt.number, AttemptRow.state == attempt.state
    )
    values = {"state": state.value, "reason_code": why.code, "reason_message": why.message, **changes}
    return num_changed(session, statement.values(**values)) == 1


def end_attempt(
    session: Session, attempt: AttemptRow, state: AttemptState, why: Reason, *, at: datetime, **changes: Any
) -> bool:
    """End an attempt: release its devices and revoke its token. False if its state has changed meanwhile."""
    if not move_attempt(session, attempt, state, why, ended_at=at, token_digest=None, **changes):
        return False
    session.execute(
        delete(DeviceClaimRow).where(DeviceClaimRow.job_id == attempt.job_id, DeviceClaimRow.attempt == attempt.number)
    )
    return True
