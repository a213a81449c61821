"""Projects and their members in SQL; basic queries are in `people`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from danlu.spec.states import JobState, is_over
from danlu.store.queries import used_names
from danlu.store.queries.used_names import UsedKind
from danlu.store.sql.audit_tables import AuditRow
from danlu.store.sql.database import num_changed
from danlu.store.sql.run_tables import RunRow
from danlu.store.sql.tables import BlobOwnerRow, JobRow, MemberRow, ProjectRow, UserRow

_OPEN = [state.value for state in JobState if not is_over(state)]


class Member(NamedTuple):
    user_id: int
    name: str
    full_name: str
    role: str
    is_active: bool


def get_project(session: Session, project_id: int) -> ProjectRow | None:
    return session.get(ProjectRow, project_id)


def project_by_name(session: Session, name: str) -> ProjectRow | None:
    return session.scalar(select(ProjectRow).where(ProjectRow.name == name))


def list_projects(
    session: Session, project_ids: Sequence[int] | None, *, after: str, limit: int
) -> Sequence[ProjectRow]:
    """Projects with these ids, or all; by name."""
    query = select(ProjectRow).where(ProjectRow.name > after).order_by(ProjectRow.name).limit(limit)
    if project_ids is not None:
        query = query.where(ProjectRow.id.in_(project_ids))
    return session.scalars(query).all()


def archived_ids(session: Session) -> frozenset[int]:
    return frozenset(session.scalars(select(ProjectRow.id).where(ProjectRow.archived_at.is_not(None))))


def change_project(session: Session, row: ProjectRow, **values: Any) -> None:
    """Change columns of a project. Raise IntegrityError if the name is taken."""
    for name, value in values.items():
        setattr(row, name, value)
    session.flush()


def delete_project(session: Session, row: ProjectRow, *, at: datetime) -> None:
    """Delete a project with members and blob rows. Its name and id are not reused; admins can read its audit log."""
    used_names.remember(session, UsedKind.PROJECT, row.name, project_id=row.id, at=at)
    session.execute(update(AuditRow).where(AuditRow.project_id == row.id).values(project_id=None))
    session.execute(delete(BlobOwnerRow).where(BlobOwnerRow.project_id == row.id))
    session.execute(delete(MemberRow).where(MemberRow.project_id == row.id))
    session.execute(delete(ProjectRow).where(ProjectRow.id == row.id))


def members(session: Session, project_id: int) -> list[Member]:
    query = select(UserRow.id, UserRow.name, UserRow.full_name, MemberRow.role, UserRow.is_active)
    query = query.join(MemberRow, MemberRow.user_id == UserRow.id).where(MemberRow.project_id == project_id)
    return [Member(*row) for row in session.execute(query.order_by(UserRow.name))]


def set_member(session: Session, project_id: int, user_id: int, role: str) -> None:
    session.merge(MemberRow(project_id=project_id, user_id=user_id, role=role))
    session.flush()


def delete_member(session: Session, project_id: int, user_id: int) -> bool:
    gone = delete(MemberRow).where(MemberRow.project_id == project_id, MemberRow.user_id == user_id)
    return num_changed(session, gone) > 0


def share_a_project(session: Session, user_id: int, project_ids: Sequence[int]) -> bool:
    query = select(MemberRow.user_id).where(MemberRow.user_id == user_id, MemberRow.project_id.in_(project_ids))
    return session.scalar(query.limit(1)) is not None


def roles_by_name(session: Session, user_id: int) -> dict[str, str]:
    """Project name -> role."""
    query = select(ProjectRow.name, MemberRow.role).join(MemberRow, MemberRow.project_id == ProjectRow.id)
    return dict(session.execute(query.where(MemberRow.user_id == user_id)).all())


def num_runs(session: Session, project_id: int) -> int:
    """Number of runs of a project, including the trash."""
    return session.scalar(select(func.count()).where(RunRow.project_id == project_id)) or 0


def num_jobs(session: Session, project_id: int, *, is_open: bool = False) -> int:
    query = select(func.count()).select_from(JobRow).where(JobRow.project_id == project_id)
    if is_open:
        query = query.where(JobRow.state.in_(_OPEN))
    return session.scalar(query) or 0


def open_jobs_of(session: Session, user_id: int) -> Sequence[JobRow]:
    """Active jobs of a user."""
    return session.scalars(select(JobRow).where(JobRow.owner_id == user_id, JobRow.state.in_(_OPEN))).all()


def open_jobs_writing_to(session: Session, bucket: str) -> Sequence[str]:
    query = select(JobRow.id).where(JobRow.state.in_(_OPEN), JobRow.output.startswith(f"store://{bucket}/"))
    return session.scalars(query.order_by(JobRow.id).limit(10)).all()
