"""The audit trail over HTTP."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Query

from danlu.server.audit import service
from danlu.server.identity import CurrentUser
from danlu.server.paging import Cursor, Limit, bad_cursor
from danlu.server.state import State
from danlu.spec.audit import Action
from danlu.store.queries.audit import AuditFilter
from danlu.wire.audit import AuditOut
from danlu.wire.base import Moment, Page

router = APIRouter(prefix="/audit", tags=["audit"])


@router.get("")
def list_events(
    who: CurrentUser,
    state: State,
    cursor: Cursor = None,
    limit: Limit = 100,
    person: Annotated[Optional[str], Query(max_length=100)] = None,
    thing: Annotated[Optional[str], Query(alias="object", max_length=200)] = None,
    action: Optional[Action] = None,
    project: Annotated[Optional[str], Query(max_length=100)] = None,
    since: Optional[Moment] = None,
    until: Optional[Moment] = None,
) -> Page[AuditOut]:
    """Changes, newest first. Admins see all, owners of projects those of their projects."""
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise bad_cursor(cursor)
    with state.database.reading() as session:
        wanted = AuditFilter(
            project_ids=service.visible(session, who, project),
            actor=person,
            object=thing,
            action=action,
            since=since,
            until=until,
        )
        found = service.list_events(session, wanted, before=int(cursor) if cursor else None, limit=limit + 1)
    items = found[:limit]
    return Page(items=items, next=str(items[-1].id) if len(found) > limit else None)
