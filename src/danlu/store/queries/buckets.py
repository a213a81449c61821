"""Buckets in SQL. A bucket is identified by its row's id; its name may be reused."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from danlu.store.queries import used_names
from danlu.store.queries.used_names import UsedKind
from danlu.store.sql.tables import BucketRow

MAX_PLACE_CHARS = 63
ID_CHARS = 8
"""Digits of a bucket's id in the name of its place, if that is not the bucket's name."""


def add_bucket(session: Session, name: str, *, project_id: int, at: datetime) -> BucketRow:
    """Create a bucket in a place of the object store that no other bucket has or had."""
    bucket_id = secrets.token_hex(16)
    place = name if _is_free(session, name) else f"{name[: MAX_PLACE_CHARS - ID_CHARS - 1]}-{bucket_id[:ID_CHARS]}"
    row = BucketRow(name=name, id=bucket_id, place=place, project_id=project_id, created_at=at)
    session.add(row)
    session.flush()
    return row


def get_bucket(session: Session, name: str) -> BucketRow | None:
    return session.get(BucketRow, name)


def place_of(row: BucketRow) -> str:
    """Where the bucket's objects are in the object store. Rows of older versions have no place; theirs is the name."""
    return row.place or row.name


def first_bucket(session: Session, project_id: int) -> BucketRow | None:
    """The project's oldest bucket."""
    query = select(BucketRow).where(BucketRow.project_id == project_id)
    return session.scalar(query.order_by(BucketRow.created_at, BucketRow.name).limit(1))


def list_buckets(session: Session, project_ids: Sequence[int] | None) -> Sequence[BucketRow]:
    """Buckets of these projects (None: all), by name."""
    query = select(BucketRow).order_by(BucketRow.name)
    if project_ids is not None:
        query = query.where(BucketRow.project_id.in_(project_ids))
    return session.scalars(query).all()


def move_bucket(session: Session, name: str, *, project_id: int) -> None:
    session.execute(update(BucketRow).where(BucketRow.name == name).values(project_id=project_id))


def delete_bucket(session: Session, row: BucketRow, *, at: datetime) -> None:
    """Delete a bucket. Its place is never reused, so that pending grants and uploads cannot reach another bucket."""
    used_names.remember(session, UsedKind.PLACE, place_of(row), project_id=row.project_id, at=at)
    session.delete(row)
    session.flush()


def _is_free(session: Session, place: str) -> bool:
    if used_names.find(session, UsedKind.PLACE, place) is not None:
        return False
    taken = select(BucketRow.name).where(or_(BucketRow.place == place, BucketRow.name == place))
    return session.scalar(taken.limit(1)) is None
