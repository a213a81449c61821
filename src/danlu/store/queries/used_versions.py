"""Version numbers that were given to artifacts and models that are gone, in SQL: none is given again."""

from __future__ import annotations

from enum import Enum

from sqlalchemy.orm import Session

from danlu.store.sql.rights_tables import UsedVersionRow


class Versioned(str, Enum):
    ARTIFACT = "artifact"
    MODEL = "model"


def remember(session: Session, kind: Versioned, project_id: int, name: str, last_version: int) -> None:
    row = UsedVersionRow(kind=kind.value, project_id=project_id, name=name, last_version=last_version)
    session.merge(row)
    session.flush()


def last_of(session: Session, kind: Versioned, project_id: int, name: str) -> int:
    """The last number that the name had before; 0 for a new name."""
    row = session.get(UsedVersionRow, (kind.value, project_id, name), populate_existing=True)
    return 0 if row is None else row.last_version
