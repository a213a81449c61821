"""Nodes over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from danlu.server.identity import CurrentReader, CurrentUser
from danlu.server.nodes import service
from danlu.server.state import State
from danlu.wire.base import Page
from danlu.wire.nodes import DrainNode, NodeOut

router = APIRouter(prefix="/nodes", tags=["nodes"])


@router.get("")
def list_nodes(_who: CurrentReader, state: State) -> Page[NodeOut]:
    return Page(items=state.database.read(service.list_nodes, state.usage))


@router.put("/{node}/drain")
def drain(node: str, body: DrainNode, who: CurrentUser, state: State) -> NodeOut:
    """Have nothing new started on the node; what runs there goes on to its end. For admins."""
    drained = state.database.write(service.drain, state, who, node, body)
    state.wake_scheduler()
    return drained


@router.delete("/{node}/drain")
def open_again(node: str, who: CurrentUser, state: State) -> NodeOut:
    """Let jobs come to the node again. Quiet when it is not drained. For admins."""
    opened = state.database.write(service.open_again, state, who, node)
    state.wake_scheduler()
    return opened
