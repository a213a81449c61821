"""SSH keys in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from danlu.store.sql.database import num_changed
from danlu.store.sql.ssh_key_tables import SshKeyRow


def keys_of(session: Session, user_id: int) -> Sequence[SshKeyRow]:
    return session.scalars(select(SshKeyRow).where(SshKeyRow.user_id == user_id).order_by(SshKeyRow.created_at)).all()


def get_key(session: Session, key_id: str, user_id: int) -> SshKeyRow | None:
    return session.get(SshKeyRow, (key_id, user_id))


def users_with(session: Session, key_id: str) -> Sequence[int]:
    """The users who registered this key, usually one."""
    query = select(SshKeyRow.user_id).where(SshKeyRow.id == key_id)
    return session.scalars(query.order_by(SshKeyRow.created_at)).all()


def add_key(session: Session, row: SshKeyRow) -> None:
    session.add(row)
    session.flush()


def touch_key(session: Session, key_id: str, user_id: int, *, at: datetime) -> None:
    query = update(SshKeyRow).where(SshKeyRow.id == key_id, SshKeyRow.user_id == user_id)
    session.execute(query.values(last_used_at=at))


def delete_key(session: Session, key_id: str, user_id: int) -> bool:
    query = delete(SshKeyRow).where(SshKeyRow.id == key_id, SshKeyRow.user_id == user_id)
    return num_changed(session, query) > 0
