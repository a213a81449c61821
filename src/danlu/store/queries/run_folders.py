"""Folders of runs in SQL, one path each. A move changes path prefixes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from danlu.store.sql.run_tables import RunFolderRow, RunRow


def exists(session: Session, project_id: int, path: str) -> bool:
    return path == "" or session.get(RunFolderRow, (project_id, path)) is not None


def make(session: Session, project_id: int, path: str, at: datetime) -> None:
    """Create a folder and its parents. Idempotent."""
    parts = path.split("/") if path else []
    for depth in range(1, len(parts) + 1):
        part = "/".join(parts[:depth])
        if session.get(RunFolderRow, (project_id, part)) is None:
            session.add(RunFolderRow(project_id=project_id, path=part, created_at=at))
    session.flush()


def list_folders(session: Session, project_ids: Sequence[int] | None) -> Sequence[RunFolderRow]:
    query = select(RunFolderRow).order_by(RunFolderRow.project_id, RunFolderRow.path)
    if project_ids is not None:
        query = query.where(RunFolderRow.project_id.in_(project_ids))
    return session.scalars(query).all()


def num_runs(session: Session, project_ids: Sequence[int] | None) -> dict[tuple[int, str], int]:
    """Number of runs directly in each folder, without the trash."""
    query = select(RunRow.project_id, RunRow.folder, func.count()).where(RunRow.deleted_at.is_(None))
    if project_ids is not None:
        query = query.where(RunRow.project_id.in_(project_ids))
    found = session.execute(query.group_by(RunRow.project_id, RunRow.folder))
    return {(row[0], row[1]): row[2] for row in found}


def owners_below(session: Session, project_id: int, path: str) -> set[int]:
    """Owners of the runs in and below a folder, including the trash."""
    query = select(RunRow.owner_id).where(RunRow.project_id == project_id, below(RunRow.folder, path)).distinct()
    return set(session.scalars(query))


def move(session: Session, project_id: int, path: str, to: str, at: datetime) -> None:
    """Move a folder with everything below it. The target must not exist."""
    make(session, project_id, to.rpartition("/")[0], at)
    for table, column in ((RunFolderRow, RunFolderRow.path), (RunRow, RunRow.folder)):
        statement = update(table).where(table.project_id == project_id, below(column, path))
        session.execute(
            statement.values({column: to + func.substr(column, len(path) + 1)}),
            execution_options={"synchronize_session": False},
        )
    session.expire_all()


def remove(session: Session, project_id: int, path: str) -> None:
    """Delete a folder and those below it, without their runs."""
    session.execute(delete(RunFolderRow).where(RunFolderRow.project_id == project_id, below(RunFolderRow.path, path)))


def below(column: InstrumentedAttribute[str], path: str) -> ColumnElement[bool]:
    """Whether a path is this one or below it."""
    if not path:
        return column.is_not(None)
    return or_(column == path, column.startswith(f"{path}/", autoescape=True))
