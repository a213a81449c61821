"""Names that were used before, in SQL: what is known under one must not become somebody else's unseen."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from danlu.store.sql.rights_tables import UsedNameRow


class UsedKind(str, Enum):
    PROJECT = "project"
    PLACE = "place"
    """Where the objects of a bucket lay."""


def remember(session: Session, kind: UsedKind, name: str, *, project_id: int | None, at: datetime) -> None:
    """The last one who had the name is who counts."""
    session.merge(UsedNameRow(kind=kind.value, name=name, project_id=project_id, at=at))
    session.flush()


def find(session: Session, kind: UsedKind, name: str) -> UsedNameRow | None:
    return session.get(UsedNameRow, (kind.value, name))


def largest_project_id(session: Session) -> int:
    """Of the projects that are gone or have had another name; 0 when there is none."""
    return session.scalar(select(func.max(UsedNameRow.project_id))) or 0
