"""Saved views in SQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from danlu.store.sql.view_tables import ViewRow


def seen_by(
    session: Session, user_id: int, project_ids: Sequence[int] | None, *, after: int, limit: int
) -> Sequence[ViewRow]:
    """Own and shared views in these projects (None: all), by creation."""
    query = select(ViewRow).where(or_(ViewRow.is_shared.is_(True), ViewRow.owner_id == user_id))
    if project_ids is not None:
        query = query.where(ViewRow.project_id.in_(project_ids))
    return session.scalars(query.where(ViewRow.id > after).order_by(ViewRow.id).limit(limit)).all()


def get_view(session: Session, view_id: int) -> ViewRow | None:
    return session.get(ViewRow, view_id)


def by_name(session: Session, project_id: int, *, owner_id: int, name: str) -> ViewRow | None:
    query = select(ViewRow).where(ViewRow.project_id == project_id, ViewRow.owner_id == owner_id)
    return session.scalar(query.where(ViewRow.name == name))


def count_of(session: Session, owner_id: int) -> int:
    return session.scalar(select(func.count()).where(ViewRow.owner_id == owner_id)) or 0


def add_view(session: Session, row: ViewRow) -> None:
    session.add(row)
    session.flush()


def delete_view(session: Session, row: ViewRow) -> None:
    session.delete(row)
    session.flush()
