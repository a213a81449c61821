"""Experiments, tags, parameters and logged models of MLflow's clients in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from danlu.store.queries import run_folders
from danlu.store.sql.mlflow_tables import ExperimentRow, LoggedModelRow, RunTextRow
from danlu.store.sql.run_tables import JournalRow, RunFolderRow, RunRow, SeriesRow
from danlu.store.sql.tables import UserRow

TAG, PARAM, INPUT = "tag", "param", "input"
_BATCH = 500


def experiment(session: Session, project_id: int, number: int) -> ExperimentRow | None:
    row = session.get(ExperimentRow, number)
    return row if row is not None and row.project_id == project_id else None


def experiment_of(session: Session, project_id: int, folder: str) -> ExperimentRow | None:
    query = select(ExperimentRow).where(ExperimentRow.project_id == project_id, ExperimentRow.folder == folder)
    return session.scalar(query)


def make_experiment(session: Session, project_id: int, folder: str, *, at: datetime) -> ExperimentRow:
    """Create an experiment for a folder, and the folder if it does not exist."""
    run_folders.make(session, project_id, folder, at)
    row = ExperimentRow(project_id=project_id, folder=folder, tags={}, created_at=at, updated_at=at)
    session.add(row)
    session.flush()
    return row


def folders_without_experiment(session: Session, project_id: int, *, limit: int) -> Sequence[str]:
    """Folders that no client of MLflow has requested yet."""
    known = select(ExperimentRow.folder).where(ExperimentRow.project_id == project_id)
    query = select(RunFolderRow.path).where(RunFolderRow.project_id == project_id, RunFolderRow.path.not_in(known))
    return session.scalars(query.order_by(RunFolderRow.path).limit(limit)).all()


def experiments_at(session: Session, project_id: int, folders: Sequence[str]) -> dict[str, ExperimentRow]:
    """Folder -> its experiment."""
    found: dict[str, ExperimentRow] = {}
    for first in range(0, len(folders), _BATCH):
        query = select(ExperimentRow).where(
            ExperimentRow.project_id == project_id, ExperimentRow.folder.in_(folders[first : first + _BATCH])
        )
        found.update((row.folder, row) for row in session.scalars(query))
    return found


def experiments_of(session: Session, project_id: int) -> Sequence[ExperimentRow]:
    """All experiments of a project, newest first, including deleted ones."""
    query = select(ExperimentRow).where(ExperimentRow.project_id == project_id)
    return session.scalars(query.order_by(ExperimentRow.created_at.desc(), ExperimentRow.number.desc())).all()


def folders_of_job(session: Session, project_id: int, job_id: str) -> set[str]:
    """Folders in which a job has runs."""
    query = select(RunRow.folder).where(RunRow.project_id == project_id, RunRow.job_id == job_id)
    return set(session.scalars(query.distinct()))


def run_ids_in(session: Session, project_id: int, folder: str) -> Sequence[str]:
    """Runs directly in a folder, without the trash."""
    query = select(RunRow.id).where(RunRow.project_id == project_id, RunRow.folder == folder)
    return session.scalars(query.where(RunRow.deleted_at.is_(None))).all()


def owners_in(session: Session, project_id: int, folder: str) -> set[int]:
    query = select(RunRow.owner_id).where(RunRow.project_id == project_id, RunRow.folder == folder).distinct()
    return set(session.scalars(query))


def trash_runs_in(session: Session, project_id: int, folder: str, *, at: datetime) -> None:
    """Move the runs in a folder to the trash, with the same time, by which `trashed_at` finds them."""
    statement = update(RunRow).where(RunRow.project_id == project_id, RunRow.folder == folder)
    statement = statement.where(RunRow.deleted_at.is_(None)).values(deleted_at=at, version=RunRow.version + 1)
    session.execute(statement, execution_options={"synchronize_session": False})
    session.expire_all()


def trashed_at(session: Session, project_id: int, folder: str, *, at: datetime) -> Sequence[RunRow]:
    """Runs in a folder that were moved to the trash at this time."""
    query = select(RunRow).where(RunRow.project_id == project_id, RunRow.folder == folder, RunRow.deleted_at == at)
    return session.scalars(query).all()


def texts_of(session: Session, runs: Sequence[int], kind: str) -> dict[int, dict[str, str]]:
    """Run -> its tags or parameters."""
    found: dict[int, dict[str, str]] = {run: {} for run in runs}
    for first in range(0, len(runs), _BATCH):
        query = select(RunTextRow).where(RunTextRow.run.in_(runs[first : first + _BATCH]), RunTextRow.kind == kind)
        for row in session.scalars(query.order_by(RunTextRow.key)):
            found[row.run][row.key] = row.value
    return found


def num_chars(session: Session, runs: Sequence[int]) -> dict[int, int]:
    """Run -> total length of its tags, parameters and data sets."""
    found = dict.fromkeys(runs, 0)
    size = func.sum(func.length(RunTextRow.value))
    for first in range(0, len(runs), _BATCH):
        query = select(RunTextRow.run, size).where(RunTextRow.run.in_(runs[first : first + _BATCH]))
        found.update((run, int(total)) for run, total in session.execute(query.group_by(RunTextRow.run)))
    return found


def inputs_in(
    session: Session, project_id: int, folders: Sequence[str], *, of_job: str | None, limit: int
) -> Iterator[tuple[str, str]]:
    """Folder and data set, as JSON, of the inputs of runs, without the trash. Streamed: few are in memory at a time."""
    query = select(RunRow.folder, RunTextRow.value).join(RunTextRow, RunTextRow.run == RunRow.number)
    query = query.where(RunRow.project_id == project_id, RunRow.folder.in_(folders), RunRow.deleted_at.is_(None))
    if of_job is not None:
        query = query.where(RunRow.job_id == of_job)
    query = query.where(RunTextRow.kind == INPUT).order_by(RunRow.number.desc(), RunTextRow.key)
    rows = session.execute(query.limit(limit).execution_options(yield_per=10))
    yield from ((row[0], row[1]) for row in rows)


def put_texts(session: Session, run: int, *, kind: str, values: Mapping[str, str]) -> None:
    for key, value in values.items():
        row = session.get(RunTextRow, (run, kind, key))
        if row is None:
            session.add(RunTextRow(run=run, kind=kind, key=key, value=value))
        else:
            row.value = value
    session.flush()


def delete_text(session: Session, run: int, *, kind: str, key: str) -> bool:
    """Delete a tag, parameter or input; False if there is none."""
    row = session.get(RunTextRow, (run, kind, key))
    if row is not None:
        session.delete(row)
        session.flush()
    return row is not None


def series_of(session: Session, runs: Sequence[int]) -> dict[int, list[SeriesRow]]:
    """Run -> its metrics."""
    found: dict[int, list[SeriesRow]] = {run: [] for run in runs}
    for first in range(0, len(runs), _BATCH):
        query = select(SeriesRow).where(SeriesRow.run.in_(runs[first : first + _BATCH]))
        for row in session.scalars(query.order_by(SeriesRow.type, SeriesRow.name)):
            found[row.run].append(row)
    return found


def owner_names(session: Session, owners: Sequence[int]) -> dict[int, str]:
    query = select(UserRow.id, UserRow.name).where(UserRow.id.in_(set(owners)))
    return {row.id: row.name for row in session.execute(query)}


def reopen(session: Session, run: RunRow, journal: str) -> None:
    """Remove the recorded end of a journal, so that its run can continue."""
    row = session.get(JournalRow, (run.number, journal))
    if row is not None:
        row.finish = None


def add_logged_model(session: Session, row: LoggedModelRow) -> None:
    session.add(row)
    session.flush()


def logged_model(session: Session, project_id: int, model_id: str) -> LoggedModelRow | None:
    query = select(LoggedModelRow).where(LoggedModelRow.id == model_id, LoggedModelRow.project_id == project_id)
    return session.scalar(query.where(LoggedModelRow.deleted_at.is_(None)))


def logged_models_in(
    session: Session, project_id: int, folders: Sequence[str], *, of_job: str | None, before: int | None, limit: int
) -> Sequence[LoggedModelRow]:
    """Newest first, below the number `before`."""
    query = select(LoggedModelRow).where(
        LoggedModelRow.project_id == project_id,
        LoggedModelRow.folder.in_(folders),
        LoggedModelRow.deleted_at.is_(None),
    )
    if of_job is not None:
        query = query.where(LoggedModelRow.run_id.in_(select(RunRow.id).where(RunRow.job_id == of_job)))
    if before is not None:
        query = query.where(LoggedModelRow.number < before)
    return session.scalars(query.order_by(LoggedModelRow.number.desc()).limit(limit)).all()


def models_of_run(session: Session, project_id: int, run_ids: Sequence[str]) -> dict[str, list[str]]:
    """Run -> ids of the models that it logged."""
    found: dict[str, list[str]] = {run_id: [] for run_id in run_ids}
    for first in range(0, len(run_ids), _BATCH):
        query = select(LoggedModelRow).where(
            LoggedModelRow.project_id == project_id,
            LoggedModelRow.run_id.in_(run_ids[first : first + _BATCH]),
            LoggedModelRow.deleted_at.is_(None),
        )
        for row in session.scalars(query.order_by(LoggedModelRow.number)):
            found[row.run_id or ""].append(row.id)
    return found
