"""Nodes over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from danlu.server.identity import CurrentReader, CurrentUser
from danlu.server.nodes import service
from danlu.server.state import State
from danlu.wire.base import Page
from danlu.wire.nodes import DrainNode, EnvironmentOut, NodeOut

router = APIRouter(prefix="/nodes", tags=["nodes"])


@router.get("")
def list_nodes(_who: CurrentReader, state: State) -> Page[NodeOut]:
    """Nodes with their devices, what is in use, and what isolation is missing."""
    return Page(items=state.database.read(service.list_nodes, state.usage))


@router.get("/environments")
def list_environments(who: CurrentReader, state: State) -> Page[EnvironmentOut]:
    """Packages that jobs of your projects require, as the nodes keep them; the last used first."""
    return Page(items=state.database.read(service.list_environments, who))


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
