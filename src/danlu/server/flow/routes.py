"""The data flow over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from danlu.server.flow import operations, service
from danlu.server.identity import CurrentReader
from danlu.server.paging import Cursor, Limit, number_in
from danlu.server.state import State
from danlu.spec.flow import Direction
from danlu.wire.flow import FlowOut

router = APIRouter(prefix="/flow", tags=["flow"])
MAX_DEPTH = 100


@router.get("")
def look(
    who: CurrentReader,
    state: State,
    node: Annotated[str, Query(min_length=1, max_length=1100)],
    direction: Direction = Direction.BOTH,
    depth: Annotated[int, Query(ge=1, le=MAX_DEPTH)] = 5,
    cursor: Cursor = None,
    limit: Limit = 200,
) -> FlowOut:
    """The lineage of a node: upstream (`up`) and downstream (`down`), the nearest first.

    `node` is `kind:key`, such as `job:train-074123456789012345`, or an id, or `store://bucket/path`.
    """
    reach = service.reach_of(direction, depth=depth, limit=limit, after=number_in(cursor, max_digits=9) or 0)
    return operations.look(state, who, node, reach)
