"""Names and version numbers that were used before, in SQL: a reference must never resolve to something else later."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from danlu.store.sql.rights_tables import UsedNameRow, UsedVersionRow


class UsedKind(str, Enum):
    PROJECT = "project"
    PLACE = "place"
    """Place of a deleted bucket in the object store."""


class Versioned(str, Enum):
    ARTIFACT = "artifact"
    MODEL = "model"


def remember(session: Session, kind: UsedKind, name: str, *, project_id: int | None, at: datetime) -> None:
    """Store the project that had a name, or held a place, last."""
    session.merge(UsedNameRow(kind=kind.value, name=name, project_id=project_id, at=at))
    session.flush()


def find(session: Session, kind: UsedKind, name: str) -> UsedNameRow | None:
    return session.get(UsedNameRow, (kind.value, name))


def largest_project_id(session: Session) -> int:
    """Largest id of projects that were deleted, renamed or had a deleted bucket; 0 if there is none."""
    return session.scalar(select(func.max(UsedNameRow.project_id))) or 0


def remember_version(session: Session, kind: Versioned, *, project_id: int, name: str, last_version: int) -> None:
    """Store the last version number of a deleted artifact or model."""
    session.merge(UsedVersionRow(kind=kind.value, project_id=project_id, name=name, last_version=last_version))
    session.flush()


def last_version(session: Session, kind: Versioned, *, project_id: int, name: str) -> int:
    """The last version number of a deleted artifact or model of this name; 0 for a new name."""
    row = session.get(UsedVersionRow, (kind.value, project_id, name), populate_existing=True)
    return 0 if row is None else row.last_version
