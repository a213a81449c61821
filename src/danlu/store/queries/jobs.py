"""Jobs in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Select, and_, delete, func, or_, select, update
from sqlalchemy.orm import Session

from danlu.spec.reasons import Reason, reason
from danlu.spec.states import Desired, JobState, is_over
from danlu.store.sql.database import num_changed
from danlu.store.sql.endpoint_tables import EndpointRow, JobUseRow
from danlu.store.sql.favourite_tables import FavouriteRow
from danlu.store.sql.monitoring_tables import AlertRow
from danlu.store.sql.tables import AttemptRow, DeviceClaimRow, EventRow, JobRow, TaskRow

RECENT_EVENTS = 500
_Query = TypeVar("_Query", bound=Select[Any])
LIVE = (JobState.STARTING.value, JobState.RUNNING.value, JobState.STOPPING.value)


@dataclass(frozen=True, slots=True)
class JobFilter:
    project_ids: Sequence[int] | None = None
    """None: all projects."""

    states: Sequence[JobState] = ()
    name: str | None = None
    owner_id: int | None = None
    tags: Sequence[tuple[str, str]] = ()
    favourite_of: int | None = None
    """Only favourites of this user."""


def add_job(session: Session, row: JobRow) -> None:
    session.add(row)
    session.flush()


def get_job(session: Session, job_id: str) -> JobRow | None:
    return session.get(JobRow, job_id)


def set_bucket_ids(session: Session, row: JobRow, ids: dict[str, str]) -> None:
    """Store what the names in the job refer to: see `JobRow.bucket_ids`."""
    row.bucket_ids = ids
    session.flush()


def reload(session: Session, row: JobRow) -> None:
    """Reload a row after statements that changed it."""
    session.refresh(row)


def project_of(session: Session, job_id: str) -> int | None:
    return session.scalar(select(JobRow.project_id).where(JobRow.id == job_id))


def jobs_by_id(session: Session, ids: Sequence[str]) -> dict[str, JobRow]:
    return {row.id: row for first in range(0, len(ids), 500) for row in _chunk(session, ids[first : first + 500])}


def states_of(session: Session, ids: Sequence[str]) -> dict[str, str]:
    """Id -> state, for existing ones."""
    found: dict[str, str] = {}
    for first in range(0, len(ids), 500):
        query = select(JobRow.id, JobRow.state).where(JobRow.id.in_(ids[first : first + 500]))
        found.update({row.id: row.state for row in session.execute(query)})
    return found


def newest_by_name(session: Session, name: str, project_ids: Sequence[int] | None) -> JobRow | None:
    query = select(JobRow).where(JobRow.name == name).order_by(JobRow.id.desc()).limit(1)
    if project_ids is not None:
        query = query.where(JobRow.project_id.in_(project_ids))
    return session.scalar(query)


def by_prefix(session: Session, prefix: str, project_ids: Sequence[int] | None, *, limit: int) -> Sequence[JobRow]:
    """Jobs whose ids begin with this prefix, newest first."""
    query = select(JobRow).where(JobRow.id.startswith(prefix, autoescape=True)).order_by(JobRow.id.desc()).limit(limit)
    if project_ids is not None:
        query = query.where(JobRow.project_id.in_(project_ids))
    return session.scalars(query).all()


def by_request_id(session: Session, owner_id: int, request_id: str) -> JobRow | None:
    return session.scalar(select(JobRow).where(JobRow.owner_id == owner_id, JobRow.request_id == request_id))


class Listed(NamedTuple):
    """A job in a list: only the fields of its spec that lists show, because specs may be long."""

    id: str
    project_id: int
    owner_id: int
    name: str
    terms: dict[str, Any] | None
    state: str
    desired: str
    reason_code: str
    reason_message: str
    priority: int
    attempt: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    nodes: int
    launch: str
    device: str
    tags: dict[str, str]
    roles: dict[str, Any] | None
    """None in specs of older versions."""


_SPEC_FIELDS = ("nodes", "launch", "device", "tags", "roles")
_SHOWN = (
    *(getattr(JobRow, name) for name in Listed._fields if name not in _SPEC_FIELDS),
    JobRow.spec["nodes"].as_integer(),
    JobRow.spec["launch"].as_string(),
    JobRow.spec["resources", "device"].as_string(),
    JobRow.spec["tags"],
    JobRow.spec["roles"],
)


def listed(row: JobRow) -> Listed:
    spec = row.spec
    own = {name: getattr(row, name) for name in Listed._fields if name not in _SPEC_FIELDS}
    found = {name: spec.get(name) for name in _SPEC_FIELDS}
    return Listed(**{**own, **found, "device": spec["resources"]["device"]})


def list_jobs(session: Session, wanted: JobFilter, *, before: str | None, limit: int) -> Sequence[JobRow]:
    """Newest first, before the job `before`."""
    return session.scalars(_wanted(select(JobRow), wanted, before=before, limit=limit)).all()


def list_shown(session: Session, wanted: JobFilter, *, before: str | None, limit: int) -> list[Listed]:
    """Like `list_jobs`, with the columns that lists show."""
    return [Listed(*row) for row in session.execute(_wanted(select(*_SHOWN), wanted, before=before, limit=limit))]


def shown_by_id(session: Session, ids: Sequence[str]) -> list[Listed]:
    found: list[Listed] = []
    for first in range(0, len(ids), 500):
        query = select(*_SHOWN).where(JobRow.id.in_(ids[first : first + 500]))
        found += [Listed(*row) for row in session.execute(query)]
    return found


def _wanted(query: _Query, wanted: JobFilter, *, before: str | None, limit: int) -> _Query:
    query = query.order_by(JobRow.id.desc()).limit(limit)
    if before is not None:
        query = query.where(JobRow.id < before)
    if wanted.project_ids is not None:
        query = query.where(JobRow.project_id.in_(wanted.project_ids))
    if wanted.states:
        query = query.where(JobRow.state.in_([state.value for state in wanted.states]))
    if wanted.name is not None:
        query = query.where(JobRow.name == wanted.name)
    if wanted.favourite_of is not None:
        query = query.join(FavouriteRow).where(FavouriteRow.user_id == wanted.favourite_of)
    if wanted.owner_id is not None:
        query = query.where(JobRow.owner_id == wanted.owner_id)
    for key, value in wanted.tags:
        query = query.where(JobRow.spec["tags"][key].as_string() == value)
    return query


def set_desired(session: Session, ids: Sequence[str], desired: Desired) -> None:
    """Store the desired state. The scheduler works towards it."""
    for first in range(0, len(ids), 500):
        session.execute(
            update(JobRow)
            .where(JobRow.id.in_(ids[first : first + 500]))
            .values(desired=desired.value, version=JobRow.version + 1)
        )


def move_job(session: Session, job: JobRow, state: JobState, why: Reason, **changes: Any) -> bool:
    """Change a job's state; False if the job has changed since the row was read."""
    statement = update(JobRow).where(JobRow.id == job.id, JobRow.version == job.version)
    values = {"state": state.value, "reason_code": why.code, "reason_message": why.message, **changes}
    return num_changed(session, statement.values(version=JobRow.version + 1, **values)) == 1


def set_reason(session: Session, job_id: str, why: Reason, *, state: JobState = JobState.QUEUED) -> None:
    """Store why a job that is in this state waits. Idempotent."""
    session.execute(
        update(JobRow)
        .where(
            JobRow.id == job_id,
            JobRow.state == state.value,
            or_(JobRow.reason_code != why.code, JobRow.reason_message != why.message),
        )
        .values(reason_code=why.code, reason_message=why.message, version=JobRow.version + 1)
    )


def claim(session: Session, states: Sequence[str], *, token: str, now: datetime, seconds: float) -> None:
    """Claim the jobs in these states that no other server owns.

    A claim with an impossibly late end was made before the clock was set back; it counts as expired.
    """
    until = now + timedelta(seconds=seconds)
    session.execute(
        update(JobRow)
        .where(
            JobRow.state.in_(states),
            or_(
                JobRow.lock_token.is_(None),
                JobRow.lock_token == token,
                JobRow.lock_expires_at < now,
                JobRow.lock_expires_at > until + timedelta(seconds=seconds),
            ),
        )
        .values(lock_token=token, lock_expires_at=until)
    )


class Mark(NamedTuple):
    """Version and claim of a job."""

    id: str
    version: int
    lock_token: str | None
    lock_expires_at: datetime | None


def in_state(session: Session, state: JobState) -> Sequence[JobRow]:
    return session.scalars(select(JobRow).where(JobRow.state == state.value)).all()


def marks(session: Session, states: Sequence[str]) -> list[Mark]:
    """Versions and claims of the jobs in these states."""
    columns = [getattr(JobRow, name) for name in Mark._fields]
    return [Mark(*row) for row in session.execute(select(*columns).where(JobRow.state.in_(states)))]


def settle_waiting(session: Session, at: datetime) -> int:
    """Apply the desired state to queued and paused jobs: stop, pause or queue them. Return how many changed."""
    waiting = (JobState.QUEUED.value, JobState.PAUSED.value)
    moves: tuple[tuple[tuple[str, ...], Desired, JobState, str, dict[str, datetime | None]], ...] = (
        (waiting, Desired.STOP, JobState.STOPPED, "stopped_by_user", {"ended_at": at}),
        ((JobState.QUEUED.value,), Desired.PAUSE, JobState.PAUSED, "paused", {}),
        ((JobState.PAUSED.value,), Desired.RUN, JobState.QUEUED, "submitted", {"queued_at": at, "not_before": None}),
    )
    moved = 0
    for states, desired, to, code, changes in moves:
        query = select(JobRow.id, JobRow.attempt).where(JobRow.state.in_(states), JobRow.desired == desired.value)
        found = session.execute(query).all()
        why = reason(code)
        for first in range(0, len(found), 500):
            ids = [job_id for job_id, _ in found[first : first + 500]]
            statement = update(JobRow).where(JobRow.id.in_(ids))
            values = {"state": to.value, "reason_code": why.code, "reason_message": why.message, **changes}
            session.execute(statement.values(version=JobRow.version + 1, **values))
        session.add_all(
            EventRow(job_id=job_id, attempt=attempt, at=at, kind=to.value, message=why.message)
            for job_id, attempt in found
        )
        moved += len(found)
    return moved


class QueueRow(NamedTuple):
    """A queued job without its spec: the queue is read often, and specs are long."""

    id: str
    project_id: int
    owner_id: int
    attempt: int
    queued_at: datetime
    not_before: datetime | None
    reason_code: str
    reason_message: str


def queue(session: Session) -> list[QueueRow]:
    """Queued jobs in scheduling order."""
    columns = [getattr(JobRow, name) for name in QueueRow._fields]
    query = select(*columns).where(JobRow.state == JobState.QUEUED.value)
    rows = session.execute(query.order_by(JobRow.priority.desc(), JobRow.queued_at, JobRow.id))
    return [QueueRow(*row) for row in rows]


def ahead_of(session: Session, job: JobRow, limit: int) -> tuple[int, list[str]]:
    """Number of queued jobs of its project before a job, and the ids of the first ones."""
    ahead = (
        JobRow.state == JobState.QUEUED.value,
        JobRow.project_id == job.project_id,
        or_(
            JobRow.priority > job.priority,
            and_(JobRow.priority == job.priority, JobRow.queued_at < job.queued_at),
            and_(JobRow.priority == job.priority, JobRow.queued_at == job.queued_at, JobRow.id < job.id),
        ),
    )
    count = session.scalar(select(func.count()).select_from(JobRow).where(*ahead)) or 0
    order = (JobRow.priority.desc(), JobRow.queued_at, JobRow.id)
    return count, list(session.scalars(select(JobRow.id).where(*ahead).order_by(*order).limit(limit)))


def projects_waiting(session: Session) -> list[int]:
    """Projects with queued jobs."""
    return list(session.scalars(select(JobRow.project_id).where(JobRow.state == JobState.QUEUED.value).distinct()))


def specs_of(session: Session, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The stored specs by job id."""
    found: dict[str, dict[str, Any]] = {}
    for first in range(0, len(ids), 500):
        query = select(JobRow.id, JobRow.spec).where(JobRow.id.in_(ids[first : first + 500]))
        found.update((row[0], row[1]) for row in session.execute(query))
    return found


def release(session: Session, token: str) -> None:
    """Release all claims, so that another server can take over at once."""
    session.execute(update(JobRow).where(JobRow.lock_token == token).values(lock_token=None, lock_expires_at=None))


def delete_jobs(session: Session, ids: Sequence[str]) -> None:
    for first in range(0, len(ids), 500):
        part = ids[first : first + 500]
        for table in (TaskRow, EventRow, DeviceClaimRow, AttemptRow, EndpointRow, JobUseRow, AlertRow, FavouriteRow):
            session.execute(delete(table).where(table.job_id.in_(part)))
        session.execute(delete(JobRow).where(JobRow.id.in_(part)))


def favourites_of(
    session: Session, user_id: int, project_ids: Sequence[int] | None, *, before: str | None, limit: int
) -> Sequence[FavouriteRow]:
    """Favourites among the jobs of these projects (None: all), by job, newest first."""
    query = select(FavouriteRow).join(JobRow).where(FavouriteRow.user_id == user_id)
    if project_ids is not None:
        query = query.where(JobRow.project_id.in_(project_ids))
    if before is not None:
        query = query.where(FavouriteRow.job_id < before)
    return session.scalars(query.order_by(FavouriteRow.job_id.desc()).limit(limit)).all()


def get_favourite(session: Session, user_id: int, job_id: str) -> FavouriteRow | None:
    return session.get(FavouriteRow, (user_id, job_id))


def count_favourites(session: Session, user_id: int) -> int:
    return session.scalar(select(func.count()).where(FavouriteRow.user_id == user_id)) or 0


def add_favourite(session: Session, row: FavouriteRow) -> None:
    session.add(row)
    session.flush()


def delete_favourite(session: Session, user_id: int, job_id: str) -> None:
    session.execute(delete(FavouriteRow).where(FavouriteRow.user_id == user_id, FavouriteRow.job_id == job_id))


def add_event(session: Session, job_id: str, attempt: int, *, kind: str, message: str, at: datetime) -> None:
    session.add(EventRow(job_id=job_id, attempt=attempt, at=at, kind=kind, message=message))


def list_events(session: Session, job_id: str, *, after: int, limit: int) -> Sequence[EventRow]:
    query = select(EventRow).where(EventRow.job_id == job_id, EventRow.id > after)
    return session.scalars(query.order_by(EventRow.id).limit(limit)).all()


def open_versions(session: Session, project_ids: Sequence[int] | None) -> dict[str, int]:
    """Versions of all active jobs, by id, to detect changes."""
    states = [state.value for state in JobState if not is_over(state)]
    query = select(JobRow.id, JobRow.version).where(JobRow.state.in_(states))
    if project_ids is not None:
        query = query.where(JobRow.project_id.in_(project_ids))
    return {row.id: row.version for row in session.execute(query)}


def last_event(session: Session, before: datetime) -> int:
    """Id of the newest event before a moment, among recent events; 0 without one."""
    newest = select(EventRow.id, EventRow.at).order_by(EventRow.id.desc()).limit(RECENT_EVENTS)
    rows = session.execute(newest).all()
    older = (event_id for event_id, at in rows if at < before)
    return next(older, rows[-1][0] - 1 if rows else 0)


def with_events(session: Session, after: int) -> tuple[set[str], int]:
    """Ids of jobs with events after an event, and the id of the last event.

    Writers are serialized, so no smaller id appears later.
    """
    rows = session.execute(select(EventRow.id, EventRow.job_id).where(EventRow.id > after)).all()
    return {job_id for _, job_id in rows}, max((event_id for event_id, _ in rows), default=after)


def _chunk(session: Session, ids: Sequence[str]) -> Sequence[JobRow]:
    return session.scalars(select(JobRow).where(JobRow.id.in_(ids))).all()
