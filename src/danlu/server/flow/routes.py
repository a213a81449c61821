"""The data flow over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from danlu.server.flow import service
from danlu.server.identity import CurrentUser
from danlu.server.paging import Cursor, Limit, bad_cursor
from danlu.server.state import State
from danlu.spec.flow import Direction
from danlu.wire.flow import FlowOut

router = APIRouter(prefix="/flow", tags=["flow"])
MAX_DEPTH = 100


@router.get("")
def look(
    who: CurrentUser,
    state: State,
    node: Annotated[str, Query(min_length=1, max_length=1100)],
    direction: Direction = Direction.BOTH,
    depth: Annotated[int, Query(ge=1, le=MAX_DEPTH)] = 5,
    cursor: Cursor = None,
    limit: Limit = 200,
) -> FlowOut:
    """What a node comes from (`up`) and what became of it (`down`), the nearest first.

    `node` is `kind:key`, such as `job:train-074123456789012345`, or an id, or `store://bucket/path`.
    """
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise bad_cursor(cursor)
    return service.look(
        state, who, node, direction=direction, depth=depth, limit=limit, after=0 if cursor is None else int(cursor)
    )
