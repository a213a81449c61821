"""Templates over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from danlu.server.identity import CurrentReader, CurrentUser
from danlu.server.paging import Cursor, Limit, number_in
from danlu.server.state import State
from danlu.server.templates import operations, service
from danlu.wire.base import Page
from danlu.wire.saved.templates import SaveTemplate, TemplateOut

router = APIRouter(prefix="/templates", tags=["templates"])


@router.get("")
def list_templates(who: CurrentReader, state: State, cursor: Cursor = None, limit: Limit = 100) -> Page[TemplateOut]:
    """Your own, and those that are shared in your projects."""
    after = number_in(cursor, max_digits=service.MAX_ID_DIGITS) or 0
    return state.database.read(service.list_templates, who, after=after, limit=limit)


@router.post("", status_code=201)
def save(body: SaveTemplate, who: CurrentUser, state: State) -> TemplateOut:
    """Save fields of a job as a template; your own template of that name in that project is replaced."""
    return operations.save(state, who, body)


@router.delete("/{template}", status_code=204)
def delete(template: str, who: CurrentUser, state: State) -> Response:
    """Delete a template."""
    state.database.write(service.delete, state, who, template)
    return Response(status_code=204)
