"""Failed sign-ins in SQL: they survive a restart and count for all servers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from danlu.store.sql.tables import FailureRow, FamiliarRow


def failures(session: Session, keys: Sequence[str]) -> dict[str, FailureRow]:
    return {row.key: row for row in session.scalars(select(FailureRow).where(FailureRow.key.in_(keys)))}


def set_failure(session: Session, key: str, *, count: int, at: datetime) -> None:
    session.merge(FailureRow(key=key, count=count, last_at=at))


def delete_failures(session: Session, keys: Sequence[str]) -> None:
    session.execute(delete(FailureRow).where(FailureRow.key.in_(keys)))


def delete_old_failures(session: Session, before: datetime) -> None:
    session.execute(delete(FailureRow).where(FailureRow.last_at < before))


def is_familiar(session: Session, user_id: int, address: str, *, since: datetime) -> bool:
    row = session.get(FamiliarRow, (user_id, address))
    return row is not None and row.last_at >= since


def make_familiar(session: Session, user_id: int, address: str, *, at: datetime, since: datetime) -> None:
    """Record a sign-in address; delete those not used since `since`."""
    session.execute(delete(FamiliarRow).where(FamiliarRow.user_id == user_id, FamiliarRow.last_at < since))
    session.merge(FamiliarRow(user_id=user_id, address=address, last_at=at))
