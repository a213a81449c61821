"""Users, keys, sessions, sign-in links and projects in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.orm import Session

from danlu.store.queries import used_names
from danlu.store.sql.database import num_changed
from danlu.store.sql.ssh_key_tables import SshKeyRow
from danlu.store.sql.tables import (
    ApiKeyRow,
    MemberRow,
    ProjectRow,
    SessionRow,
    SignInLinkRow,
    UserRow,
)


def add_user(
    session: Session, name: str, *, is_admin: bool, at: datetime, full_name: str = "", email: str = ""
) -> UserRow:
    user = UserRow(name=name, is_admin=is_admin, created_at=at, full_name=full_name, email=email)
    session.add(user)
    session.flush()
    return user


def change_user(session: Session, user: UserRow, **values: str | bool) -> None:
    for name, value in values.items():
        setattr(user, name, value)
    session.flush()


def any_user(session: Session) -> bool:
    return session.scalar(select(UserRow.id).limit(1)) is not None


def get_user(session: Session, user_id: int) -> UserRow | None:
    return session.get(UserRow, user_id)


def user_by_name(session: Session, name: str) -> UserRow | None:
    return session.scalar(select(UserRow).where(UserRow.name == name))


def list_users(
    session: Session, project_ids: Sequence[int] | None, *, me: int, after: str, limit: int
) -> Sequence[UserRow]:
    """Users by name: all, or the user `me` and the members of these projects."""
    query = select(UserRow).where(UserRow.name > after).order_by(UserRow.name).limit(limit)
    if project_ids is not None:
        near = select(MemberRow.user_id).where(MemberRow.project_id.in_(project_ids))
        query = query.where(or_(UserRow.id == me, UserRow.id.in_(near)))
    return session.scalars(query).all()


def num_active_admins(session: Session) -> int:
    query = select(func.count()).select_from(UserRow).where(UserRow.is_admin, UserRow.is_active)
    return session.scalar(query) or 0


def first_active_admin(session: Session) -> UserRow | None:
    return session.scalar(select(UserRow).where(UserRow.is_admin, UserRow.is_active).order_by(UserRow.id).limit(1))


def active_admins(session: Session) -> Sequence[UserRow]:
    return session.scalars(select(UserRow).where(UserRow.is_admin, UserRow.is_active).order_by(UserRow.id)).all()


def set_default_project(session: Session, user: UserRow, project_id: int) -> None:
    user.default_project_id = project_id
    session.flush()


def set_password(session: Session, user_id: int, password_hash: str) -> None:
    session.execute(update(UserRow).where(UserRow.id == user_id).values(password_hash=password_hash))


def roles_of(session: Session, user_id: int) -> dict[int, str]:
    rows = session.execute(select(MemberRow.project_id, MemberRow.role).where(MemberRow.user_id == user_id))
    return dict(rows.all())


def add_key(session: Session, row: ApiKeyRow) -> None:
    session.add(row)
    session.flush()


def get_key(session: Session, key_id: str) -> tuple[ApiKeyRow, UserRow] | None:
    """A key and its user, in one query: every request needs them."""
    query = select(ApiKeyRow, UserRow).join(UserRow, UserRow.id == ApiKeyRow.user_id).where(ApiKeyRow.id == key_id)
    found = session.execute(query).first()
    return None if found is None else (found[0], found[1])


def keys_of(session: Session, user_id: int) -> Sequence[ApiKeyRow]:
    return session.scalars(select(ApiKeyRow).where(ApiKeyRow.user_id == user_id).order_by(ApiKeyRow.created_at)).all()


def list_keys(session: Session, user_id: int | None, *, after: str, limit: int) -> Sequence[tuple[ApiKeyRow, UserRow]]:
    """Keys of one user or of all, by id, each with its user."""
    query = select(ApiKeyRow, UserRow).join(UserRow, UserRow.id == ApiKeyRow.user_id).where(ApiKeyRow.id > after)
    if user_id is not None:
        query = query.where(ApiKeyRow.user_id == user_id)
    return [(row[0], row[1]) for row in session.execute(query.order_by(ApiKeyRow.id).limit(limit))]


def touch_key(session: Session, key_id: str, at: datetime) -> None:
    session.execute(update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(last_used_at=at))


def delete_key(session: Session, key_id: str) -> bool:
    return num_changed(session, delete(ApiKeyRow).where(ApiKeyRow.id == key_id)) > 0


def delete_access(session: Session, user_id: int, *, keys: bool, but_session: str = "") -> None:
    """Delete sessions, except that with the digest `but_session`, and links; with `keys` also API and SSH keys."""
    session.execute(delete(SessionRow).where(SessionRow.user_id == user_id, SessionRow.digest != but_session))
    session.execute(delete(SignInLinkRow).where(SignInLinkRow.user_id == user_id))
    if keys:
        session.execute(delete(ApiKeyRow).where(ApiKeyRow.user_id == user_id))
        session.execute(delete(SshKeyRow).where(SshKeyRow.user_id == user_id))


def add_link(session: Session, user_id: int, *, digest: str, expires_at: datetime) -> None:
    session.add(SignInLinkRow(digest=digest, user_id=user_id, expires_at=expires_at))


def take_link(session: Session, digest: str, now: datetime) -> int | None:
    """Use a link and return its user; None if it is unknown, used or expired."""
    row = session.get(SignInLinkRow, digest)
    if row is None:
        return None
    # the delete decides which of two concurrent requests was first
    taken = num_changed(session, delete(SignInLinkRow).where(SignInLinkRow.digest == digest)) == 1
    return row.user_id if taken and row.expires_at > now else None


def has_link(session: Session, digest: str, now: datetime) -> bool:
    row = session.get(SignInLinkRow, digest)
    return row is not None and row.expires_at > now


def touch_user(session: Session, user_id: int, at: datetime) -> None:
    session.execute(update(UserRow).where(UserRow.id == user_id).values(signed_in_at=at))


def has_session(session: Session, user_id: int, prefix: str) -> bool:
    """Whether a user has a session whose digest starts with this."""
    query = select(SessionRow.digest).where(SessionRow.user_id == user_id, SessionRow.digest.startswith(prefix))
    return session.scalar(query) is not None


def add_session(session: Session, user_id: int, *, digest: str, csrf: str, expires_at: datetime) -> None:
    session.add(SessionRow(digest=digest, user_id=user_id, csrf=csrf, expires_at=expires_at))


def delete_old_sessions(session: Session, now: datetime) -> None:
    session.execute(delete(SessionRow).where(SessionRow.expires_at < now))


def get_session(session: Session, digest: str) -> SessionRow | None:
    return session.get(SessionRow, digest)


def delete_session(session: Session, digest: str) -> bool:
    return num_changed(session, delete(SessionRow).where(SessionRow.digest == digest)) > 0


def add_project(session: Session, name: str, *, description: str = "", at: datetime | None = None) -> ProjectRow:
    project = ProjectRow(name=name, description=description, created_at=at)
    if session.get_bind().dialect.name == "sqlite":
        # SQLite would reuse the largest id after its project is deleted; rights depend on ids
        largest = session.scalar(select(func.max(ProjectRow.id))) or 0
        project.id = max(largest, used_names.largest_project_id(session)) + 1
    session.add(project)
    session.flush()
    return project


def project_name(session: Session, project_id: int) -> str:
    return session.get_one(ProjectRow, project_id).name


def projects_by_id(session: Session) -> dict[int, str]:
    return {row.id: row.name for row in session.scalars(select(ProjectRow))}


def names_of_users(session: Session, ids: set[int]) -> dict[int, str]:
    return {row.id: row.name for row in session.scalars(select(UserRow).where(UserRow.id.in_(ids)))}
