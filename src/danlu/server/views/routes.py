"""Saved views over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from danlu.server.identity import CurrentReader, CurrentUser
from danlu.server.paging import Cursor, Limit, number_in
from danlu.server.state import State
from danlu.server.views import service
from danlu.wire.base import Page
from danlu.wire.saved.views import SaveView, ViewOut

router = APIRouter(prefix="/views", tags=["views"])


@router.get("")
def list_views(who: CurrentReader, state: State, cursor: Cursor = None, limit: Limit = 100) -> Page[ViewOut]:
    """Your own, and those that are shared in your projects."""
    after = number_in(cursor, max_digits=service.MAX_ID_DIGITS) or 0
    return state.database.read(service.list_views, who, after=after, limit=limit)


@router.get("/{view}")
def get(view: str, who: CurrentReader, state: State) -> ViewOut:
    """One view: what a link to it opens."""
    return state.database.read(service.get, who, view)


@router.post("", status_code=201)
def save(body: SaveView, who: CurrentUser, state: State) -> ViewOut:
    """Save how runs are looked at; your own view of that name in that project is replaced."""
    return state.database.write(service.save, state, who, body)


@router.delete("/{view}", status_code=204)
def delete(view: str, who: CurrentUser, state: State) -> Response:
    """Delete a view."""
    state.database.write(service.delete, state, who, view)
    return Response(status_code=204)
