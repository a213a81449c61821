"""Runs in SQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, delete, func, select, update
from sqlalchemy.orm import Session

from danlu.spec.runs import RunState
from danlu.store.queries.lists.run_search import compile_filter
from danlu.store.queries.run_folders import below
from danlu.store.sql.mlflow_tables import RunTextRow
from danlu.store.sql.run_tables import (
    BranchRow,
    ChunkRow,
    JournalRow,
    MediaRow,
    RunAlertRow,
    RunOutputRow,
    RunRow,
    RunValueRow,
    SeriesRow,
)
from danlu.store.sql.tables import AttemptRow, JobRow

MOST_LIVELY = 1000
"""Maximum number of running runs that are watched, newest first."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    project_ids: Sequence[int] | None = None
    """None: all projects."""

    folder: str | None = None
    with_folders_below: bool = True
    job_id: str | None = None
    text: str | None = None
    """A run filter."""

    is_deleted: bool = False


def add_run(session: Session, row: RunRow) -> None:
    session.add(row)
    session.flush()


def get_run(session: Session, run_id: str) -> RunRow | None:
    return session.scalar(select(RunRow).where(RunRow.id == run_id))


def states_of(session: Session, ids: Sequence[str]) -> dict[str, str]:
    """Id -> state, for existing ones."""
    found: dict[str, str] = {}
    for first in range(0, len(ids), 500):
        query = select(RunRow.id, RunRow.state).where(RunRow.id.in_(ids[first : first + 500]))
        found.update({row.id: row.state for row in session.execute(query)})
    return found


def by_name(session: Session, name: str, project_ids: Sequence[int] | None) -> RunRow | None:
    """The newest run of a name, without the trash."""
    query = select(RunRow).where(RunRow.name == name, RunRow.deleted_at.is_(None))
    if project_ids is not None:
        query = query.where(RunRow.project_id.in_(project_ids))
    return session.scalar(query.order_by(RunRow.number.desc()).limit(1))


def by_prefix(session: Session, prefix: str, project_ids: Sequence[int] | None, *, limit: int) -> Sequence[RunRow]:
    """Runs whose ids begin with this prefix, newest first, including the trash."""
    query = select(RunRow).where(RunRow.id.startswith(prefix, autoescape=True))
    if project_ids is not None:
        query = query.where(RunRow.project_id.in_(project_ids))
    return session.scalars(query.order_by(RunRow.number.desc()).limit(limit)).all()


def in_folder(session: Session, project_id: int, folder: str, name: str) -> Sequence[RunRow]:
    query = select(RunRow).where(
        RunRow.project_id == project_id, RunRow.folder == folder, RunRow.name == name, RunRow.deleted_at.is_(None)
    )
    return session.scalars(query.order_by(RunRow.number)).all()


def own_run(session: Session, job_id: str) -> RunRow | None:
    """The job's own run."""
    return session.scalar(select(RunRow).where(RunRow.job_id == job_id, RunRow.is_own.is_(True)).limit(1))


def list_runs(session: Session, wanted: RunFilter, *, before: int | None, limit: int) -> Sequence[RunRow]:
    """Newest first, below the number `before`. Raise InvalidInput for an invalid filter."""
    query = select(RunRow).where(*conditions(wanted))
    if before is not None:
        query = query.where(RunRow.number < before)
    return session.scalars(query.order_by(RunRow.number.desc()).limit(limit)).all()


def has_value(session: Session, project_ids: Sequence[int] | None, name: str) -> bool:
    """Whether a run of these projects (None: of any) has a value of this name."""
    query = select(RunValueRow.run).where(RunValueRow.key == name)
    return session.scalar(_of_projects(query, project_ids).limit(1)) is not None


def value_names(session: Session, project_ids: Sequence[int] | None, *, limit: int = 1000) -> Sequence[str]:
    query = select(RunValueRow.key).distinct().limit(limit)
    return session.scalars(_of_projects(query, project_ids)).all()


def _of_projects(query: Select[Any], project_ids: Sequence[int] | None) -> Select[Any]:
    if project_ids is None:
        return query
    return query.join(RunRow, RunRow.number == RunValueRow.run).where(RunRow.project_id.in_(project_ids))


def lively_versions(
    session: Session, wanted: RunFilter, *, num_newest: int, also: Collection[str] = ()
) -> dict[str, int]:
    """Id -> version of runs that may change: running ones, the newest, and the given ones."""
    query = select(RunRow.id, RunRow.version).where(*conditions(wanted)).order_by(RunRow.number.desc())
    found = {row.id: row.version for row in session.execute(query.limit(num_newest))}
    running = query.where(RunRow.state == RunState.RUNNING.value).limit(MOST_LIVELY)
    found.update({row.id: row.version for row in session.execute(running)})
    left = [run_id for run_id in also if run_id not in found]
    for first in range(0, len(left), 500):
        named = query.where(RunRow.id.in_(left[first : first + 500]))
        found.update({row.id: row.version for row in session.execute(named)})
    return found


def by_ids(session: Session, ids: Sequence[str]) -> list[RunRow]:
    """The existing runs among these, newest first."""
    found: list[RunRow] = []
    for first in range(0, len(ids), 500):
        found += session.scalars(select(RunRow).where(RunRow.id.in_(ids[first : first + 500])))
    return sorted(found, key=lambda row: -row.number)


def ids_below(session: Session, project_id: int, path: str) -> Sequence[str]:
    """Runs in and below a folder, without the trash."""
    query = select(RunRow.id).where(RunRow.project_id == project_id, below(RunRow.folder, path))
    return session.scalars(query.where(RunRow.deleted_at.is_(None))).all()


def bin_folder(session: Session, project_id: int, path: str, at: datetime) -> None:
    """Move the runs in and below a folder to the trash."""
    statement = update(RunRow).where(
        RunRow.project_id == project_id, below(RunRow.folder, path), RunRow.deleted_at.is_(None)
    )
    session.execute(statement.values(deleted_at=at, version=RunRow.version + 1))


def trashed_before(session: Session, moment: datetime, limit: int) -> Sequence[RunRow]:
    return session.scalars(select(RunRow).where(RunRow.deleted_at < moment).limit(limit)).all()


def purge(session: Session, row: RunRow) -> None:
    """Delete a run permanently. The caller deletes its files after the commit."""
    series = select(SeriesRow.id).where(SeriesRow.run == row.number)
    session.execute(delete(ChunkRow).where(ChunkRow.series.in_(series)))
    for table in (SeriesRow, RunValueRow, RunTextRow, JournalRow, BranchRow, MediaRow, RunAlertRow, RunOutputRow):
        session.execute(delete(table).where(table.run == row.number))
    session.delete(row)
    session.flush()


def num_parts(session: Session, row: RunRow) -> int:
    """Runs of the same project that name this one as their parent, without those in the trash."""
    parts = select(func.count()).where(
        RunRow.parent == row.id, RunRow.project_id == row.project_id, RunRow.deleted_at.is_(None)
    )
    return session.scalar(parts.select_from(RunRow)) or 0


def series_of(session: Session, run: int) -> Sequence[SeriesRow]:
    query = select(SeriesRow).where(SeriesRow.run == run)
    return session.scalars(query.order_by(SeriesRow.type, SeriesRow.name)).all()


class RolledUp(NamedTuple):
    """A series without its points."""

    type: str
    name: str
    num_points: int
    step: int
    epoch: float | None
    last: float | None
    odd: str | None
    low: float | None
    high: float | None


def rolled_up(session: Session, numbers: Sequence[int], *, without: str, most: int) -> dict[int, list[RolledUp]]:
    """Series of many runs, without those of type `without`; at most `most` per run."""
    found: dict[int, list[RolledUp]] = {number: [] for number in numbers}
    columns = [getattr(SeriesRow, name) for name in RolledUp._fields]
    for first in range(0, len(numbers), 500):
        query = select(SeriesRow.run, *columns).where(SeriesRow.run.in_(numbers[first : first + 500]))
        query = query.where(SeriesRow.type != without).order_by(SeriesRow.run, SeriesRow.type, SeriesRow.name)
        for run, *values in session.execute(query):
            if len(found[run]) < most:
                found[run].append(RolledUp(*values))
    return found


def branches_of(session: Session, run: int) -> dict[int, int | None]:
    """Branch -> first step at which it supersedes older ones; None without points."""
    rows = session.scalars(select(BranchRow).where(BranchRow.run == run).order_by(BranchRow.branch))
    return {
        row.branch: None if row.first_step is None else row.first_step if row.said_step is None else row.said_step
        for row in rows
    }


def media_of(session: Session, run: int, *, after: tuple[str, int], limit: int) -> Sequence[MediaRow]:
    query = select(MediaRow).where(
        MediaRow.run == run,
        (MediaRow.journal > after[0]) | ((MediaRow.journal == after[0]) & (MediaRow.start > after[1])),
    )
    return session.scalars(query.order_by(MediaRow.journal, MediaRow.start).limit(limit)).all()


def get_media(session: Session, run: int, journal: str, start: int) -> MediaRow | None:
    return session.get(MediaRow, (run, journal, start))


def output_from(session: Session, run: int, journal: str, offset: int) -> RunOutputRow | None:
    """The range with the output byte at `offset`, or the next range."""
    query = select(RunOutputRow).where(
        RunOutputRow.run == run, RunOutputRow.journal == journal, RunOutputRow.first + RunOutputRow.size > offset
    )
    return session.scalar(query.order_by(RunOutputRow.first).limit(1))


def still_running(session: Session) -> Sequence[tuple[RunRow, JobRow | None, AttemptRow | None]]:
    """Runs in state running, with job and attempt if they have one."""
    attempt = (AttemptRow.job_id == RunRow.job_id) & (AttemptRow.number == RunRow.attempt)
    query = (
        select(RunRow, JobRow, AttemptRow)
        .outerjoin(JobRow, JobRow.id == RunRow.job_id)
        .outerjoin(AttemptRow, attempt)
        .where(RunRow.state == RunState.RUNNING.value)
    )
    return [(row[0], row[1], row[2]) for row in session.execute(query)]


def conditions(wanted: RunFilter) -> list[ColumnElement[bool]]:
    """The conditions of a filter. Raise InvalidInput for an invalid one."""
    found: list[ColumnElement[bool]] = [
        RunRow.deleted_at.is_not(None) if wanted.is_deleted else RunRow.deleted_at.is_(None)
    ]
    if wanted.project_ids is not None:
        found.append(RunRow.project_id.in_(wanted.project_ids))
    if wanted.folder is not None:
        found.append(
            below(RunRow.folder, wanted.folder) if wanted.with_folders_below else RunRow.folder == wanted.folder
        )
    if wanted.job_id is not None:
        found.append(RunRow.job_id == wanted.job_id)
    if wanted.text is not None and wanted.text.strip():
        found.append(compile_filter(wanted.text))
    return found
