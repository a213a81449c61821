"""Templates in SQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from danlu.store.sql.template_tables import TemplateRow


def seen_by(
    session: Session, user_id: int, project_ids: Sequence[int] | None, *, after: int, limit: int
) -> Sequence[TemplateRow]:
    """Own and shared templates in these projects (None: all), by creation."""
    query = select(TemplateRow).where(or_(TemplateRow.is_shared.is_(True), TemplateRow.owner_id == user_id))
    if project_ids is not None:
        query = query.where(TemplateRow.project_id.in_(project_ids))
    return session.scalars(query.where(TemplateRow.id > after).order_by(TemplateRow.id).limit(limit)).all()


def get_template(session: Session, template_id: int) -> TemplateRow | None:
    return session.get(TemplateRow, template_id)


def by_name(session: Session, project_id: int, owner_id: int, name: str) -> TemplateRow | None:
    query = select(TemplateRow).where(TemplateRow.project_id == project_id, TemplateRow.owner_id == owner_id)
    return session.scalar(query.where(TemplateRow.name == name))


def count_of(session: Session, owner_id: int) -> int:
    return session.scalar(select(func.count()).where(TemplateRow.owner_id == owner_id)) or 0


def add_template(session: Session, row: TemplateRow) -> None:
    session.add(row)
    session.flush()


def delete_template(session: Session, row: TemplateRow) -> None:
    session.delete(row)
    session.flush()
