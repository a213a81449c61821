"""Notices of users in SQL, and up to which event of jobs notices were created."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from danlu.store.sql.database import num_changed
from danlu.store.sql.monitoring_tables import NoticeRow, NoticeWishRow
from danlu.store.sql.tables import EventRow, FactRow

TOLD = "told_events"
"""Name of the fact with the last event of jobs for which notices were created."""


class EndEvent(NamedTuple):
    id: int
    job_id: str
    attempt: int
    at: datetime


def add_notice(session: Session, row: NoticeRow) -> None:
    session.add(row)


def list_notices(session: Session, user_id: int, *, before: int | None, limit: int) -> Sequence[NoticeRow]:
    """Notices of a user, newest first."""
    query = select(NoticeRow).where(NoticeRow.user_id == user_id).order_by(NoticeRow.id.desc()).limit(limit)
    if before is not None:
        query = query.where(NoticeRow.id < before)
    return session.scalars(query).all()


def num_unread(session: Session, user_id: int) -> int:
    query = select(func.count()).where(NoticeRow.user_id == user_id, NoticeRow.read_at.is_(None))
    return session.scalar(query.select_from(NoticeRow)) or 0


def mark_read(session: Session, user_id: int, *, up_to: int, at: datetime) -> int:
    """Mark notices up to an id as read; return how many were unread."""
    query = update(NoticeRow).where(NoticeRow.user_id == user_id, NoticeRow.id <= up_to, NoticeRow.read_at.is_(None))
    return num_changed(session, query.values(read_at=at))


def forget_notices(session: Session, before: datetime) -> None:
    session.execute(delete(NoticeRow).where(NoticeRow.at < before))


def email_kinds(session: Session, user_id: int) -> list[str]:
    row = session.get(NoticeWishRow, user_id)
    return [] if row is None else [str(kind) for kind in row.email_kinds]


def set_email_kinds(session: Session, user_id: int, kinds: Sequence[str]) -> None:
    session.merge(NoticeWishRow(user_id=user_id, email_kinds=list(kinds)))
    session.flush()


def told_up_to(session: Session) -> int | None:
    """The last event of jobs for which notices were created; None before the first."""
    row = session.get(FactRow, TOLD)
    return None if row is None else int(row.value)


def set_told_up_to(session: Session, event_id: int) -> None:
    session.merge(FactRow(name=TOLD, value=str(event_id)))


def newest_event(session: Session) -> int:
    return session.scalar(select(func.max(EventRow.id))) or 0


def events_of_kinds(session: Session, kinds: Collection[str], *, after: int, limit: int) -> list[EndEvent]:
    """Events of jobs after this one, oldest first."""
    query = select(EventRow.id, EventRow.job_id, EventRow.attempt, EventRow.at)
    query = query.where(EventRow.id > after, EventRow.kind.in_(list(kinds))).order_by(EventRow.id).limit(limit)
    return [EndEvent(*row) for row in session.execute(query)]
