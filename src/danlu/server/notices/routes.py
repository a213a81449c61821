"""Notices over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from danlu.server.identity import CurrentUser
from danlu.server.notices import service
from danlu.server.paging import Cursor, Limit, number_in
from danlu.server.state import State
from danlu.wire.monitoring.notices import NoticesOut, NoticeWishes, NoticeWishesOut, ReadNotices

router = APIRouter(prefix="/notices", tags=["monitoring"])
MAX_ID_DIGITS = 9


@router.get("")
def list_notices(who: CurrentUser, state: State, cursor: Cursor = None, limit: Limit = 50) -> NoticesOut:
    """Your own, newest first: ends of your jobs, and alerts about them."""
    before = number_in(cursor, max_digits=MAX_ID_DIGITS)
    return state.database.read(service.list_notices, who, before=before, limit=limit)


@router.put("/read", status_code=204)
def mark_read(body: ReadNotices, who: CurrentUser, state: State) -> Response:
    state.database.write(service.mark_read, state, who, body.up_to)
    return Response(status_code=204)


@router.get("/wishes")
def get_wishes(who: CurrentUser, state: State) -> NoticeWishesOut:
    """Which events you get an e-mail for."""
    return state.database.read(service.get_wishes, state, who)


@router.put("/wishes")
def set_wishes(body: NoticeWishes, who: CurrentUser, state: State) -> NoticeWishesOut:
    return state.database.write(service.set_wishes, state, who, body)
