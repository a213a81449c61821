"""The audit log in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from danlu.store.sql.audit_tables import AuditRow


@dataclass(frozen=True, slots=True)
class AuditFilter:
    project_ids: Sequence[int] | None = None
    """None: all projects, and events without one."""

    actor: str | None = None
    object: str | None = None
    action: str | None = None
    since: datetime | None = None
    until: datetime | None = None


def add_event(session: Session, row: AuditRow) -> None:
    session.add(row)


def count_more(session: Session, row: AuditRow, *, since: datetime) -> bool:
    """Count an event as a repetition of the last one; False if that differs or is older than `since`."""
    alike = (AuditRow.action == row.action, AuditRow.object == row.object, AuditRow.address == row.address)
    query = select(AuditRow).where(AuditRow.actor == row.actor).order_by(AuditRow.id.desc()).limit(1)
    last = session.scalar(query.where(*alike, AuditRow.via == row.via, AuditRow.at >= since))
    if last is None:
        return False
    session.execute(update(AuditRow).where(AuditRow.id == last.id).values(count=AuditRow.count + row.count))
    return True


def list_events(session: Session, wanted: AuditFilter, *, before: int | None, limit: int) -> Sequence[AuditRow]:
    """Newest first, before the event `before`."""
    query = select(AuditRow).order_by(AuditRow.id.desc()).limit(limit)
    if before is not None:
        query = query.where(AuditRow.id < before)
    if wanted.project_ids is not None:
        query = query.where(AuditRow.project_id.in_(wanted.project_ids))
    if wanted.actor is not None:
        query = query.where(AuditRow.actor == wanted.actor)
    if wanted.object is not None:
        query = query.where(AuditRow.object == wanted.object)
    if wanted.action is not None:
        query = query.where(AuditRow.action == wanted.action)
    if wanted.since is not None:
        query = query.where(AuditRow.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(AuditRow.at < wanted.until)
    return session.scalars(query).all()
