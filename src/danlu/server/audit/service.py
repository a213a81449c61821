"""The audit log: what is recorded, and who reads it. An event is written in the transaction of its change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Identity, JobIdentity, Stranger, UserIdentity
from danlu.errors import NotAllowed
from danlu.server.paging import page_of
from danlu.server.scope import find_project
from danlu.spec.audit import Action
from danlu.store.queries import audit, people
from danlu.store.queries.audit import AuditFilter
from danlu.store.sql.audit_tables import AuditRow
from danlu.wire.audit import AuditOut
from danlu.wire.base import Page

ONE_STORY = timedelta(minutes=1)
"""Files that one user puts into or deletes from one bucket within this time are one event with a count."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events to list; None: any."""

    actor: str | None = None
    object: str | None = None
    action: Action | None = None
    project: str | None = None
    since: datetime | None = None
    until: datetime | None = None


def record_action(
    session: Session,
    who: Identity | Stranger,
    action: Action,
    thing: str,
    *,
    at: datetime,
    project_id: int | None = None,
    **details: str | int | bool | None,
) -> None:
    """Record a change. Users see its details: they must not contain secrets."""
    audit.add_event(session, _row(who, action, thing, at, project_id, details))


@dataclass(frozen=True, slots=True)
class Repeated:
    """The same change to many things in one place."""

    place: str
    project_id: int | None
    first: str
    """Name of one of them."""

    count: int = 1


def record_repeated_action(session: Session, who: Identity, action: Action, changed: Repeated, *, at: datetime) -> None:
    """Record a change that may happen thousands of times: changes within a minute are one event with a count and the
    first name."""
    row = _row(who, action, changed.place, at, changed.project_id, {"first": changed.first})
    row.count = changed.count
    if not audit.count_more(session, row, since=at - ONE_STORY):
        audit.add_event(session, row)


def visible(session: Session, who: UserIdentity, project: str | None) -> list[int] | None:
    """The projects whose events the user may read; None: all. Owners read events of their projects."""
    if project is not None:
        row = find_project(session, who, project)
        if not rights.can_own_project(who, row.id):
            raise NotAllowed(f"only owners of {project} and admins may read its audit log")
        return [row.id]
    if who.is_admin:
        return None
    owned = [project_id for project_id in who.roles if rights.can_own_project(who, project_id)]
    if not owned:
        raise NotAllowed("only project owners and admins may read the audit log")
    return owned


def list_events(
    session: Session, who: UserIdentity, wanted: Wanted, *, before: int | None, limit: int
) -> Page[AuditOut]:
    """Newest first."""
    seen = AuditFilter(
        project_ids=visible(session, who, wanted.project),
        actor=wanted.actor,
        object=wanted.object,
        action=wanted.action,
        since=wanted.since,
        until=wanted.until,
    )
    names = people.projects_by_id(session)
    rows = audit.list_events(session, seen, before=before, limit=limit + 1)
    shown = [_out(row, names.get(row.project_id) if row.project_id is not None else None) for row in rows]
    return page_of(shown, limit, lambda event: str(event.id))


def _out(row: AuditRow, project: str | None) -> AuditOut:
    return AuditOut(
        id=row.id,
        at=row.at,
        actor=row.actor,
        action=row.action,
        object=row.object,
        project=project,
        address=row.address,
        via=row.via,
        details=row.details,
        count=row.count,
    )


def _row(
    who: Identity | Stranger,
    action: Action,
    thing: str,
    at: datetime,
    project_id: int | None,
    details: dict[str, str | int | bool | None],
) -> AuditRow:
    return AuditRow(
        at=at,
        actor=_name(who),
        action=action.value,
        object=thing[:200],
        project_id=project_id,
        address=who.origin.address,
        via=who.origin.via,
        details={name: value for name, value in details.items() if value is not None},
        count=1,
    )


def _name(who: Identity | Stranger) -> str:
    if isinstance(who, UserIdentity):
        return who.name
    return who.job_id if isinstance(who, JobIdentity) else ""
