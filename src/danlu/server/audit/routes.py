"""The audit log over HTTP."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Query

from danlu.server.audit import service
from danlu.server.identity import CurrentUser
from danlu.server.paging import Cursor, Limit, number_in
from danlu.server.state import State
from danlu.spec.audit import Action
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
    wanted = service.Wanted(actor=person, object=thing, action=action, project=project, since=since, until=until)
    return state.database.read(service.list_events, who, wanted, before=number_in(cursor), limit=limit)
