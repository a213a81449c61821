"""Nodes over HTTP."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Query
from pydantic import AwareDatetime

from danlu.server.identity import CurrentReader, CurrentUser
from danlu.server.nodes import service
from danlu.server.paging import Cursor, Limit, number_in, page_of
from danlu.server.state import State
from danlu.wire.base import Page
from danlu.wire.nodes import DrainNode, EnvironmentOut, HoldingOut, NodeOut

router = APIRouter(prefix="/nodes", tags=["nodes"])
At = Annotated[Optional[AwareDatetime], Query()]
MOST_DIGITS = 9
"""Of a cursor, which is a number of rows."""


@router.get("")
def list_nodes(_who: CurrentReader, state: State) -> Page[NodeOut]:
    """Nodes with their devices, what is in use, and what isolation is missing."""
    return Page(items=state.database.read(service.list_nodes, state.usage))


@router.get("/environments")
def list_environments(who: CurrentReader, state: State) -> Page[EnvironmentOut]:
    """Packages that jobs of your projects require, as the nodes keep them; the last used first."""
    return Page(items=state.database.read(service.list_environments, who))


@router.get("/holdings")
def list_holdings(
    who: CurrentReader, state: State, since: At = None, until: At = None, limit: Limit = 1000, cursor: Cursor = None
) -> Page[HoldingOut]:
    """Who held what and when: tasks between two moments (the last day), at most 31 days, the last started first."""
    end = state.now() if until is None else until
    skip = number_in(cursor, max_digits=MOST_DIGITS) or 0
    found = state.database.read(service.list_holdings, who, since, end, skip=skip, limit=limit + 1)
    return page_of(found, limit, lambda _: str(skip + limit))


@router.put("/{node}/drain")
def drain(node: str, body: DrainNode, who: CurrentUser, state: State) -> NodeOut:
    """Start nothing new on the node; running tasks continue. For admins."""
    drained = state.database.write(service.drain, state, who, node, body)
    state.wake_scheduler()
    return drained


@router.delete("/{node}/drain")
def open_again(node: str, who: CurrentUser, state: State) -> NodeOut:
    """Allow new tasks on the node again. Idempotent. For admins."""
    opened = state.database.write(service.open_again, state, who, node)
    state.wake_scheduler()
    return opened
