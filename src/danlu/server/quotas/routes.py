"""Quotas over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from danlu.server.identity import CurrentReader, CurrentUser
from danlu.server.quotas import service
from danlu.server.state import State
from danlu.wire.quotas import QuotasOut, SetQuotas

router = APIRouter(prefix="/projects/{project}/quotas", tags=["quotas"])


@router.get("")
def get(project: str, who: CurrentReader, state: State) -> QuotasOut:
    """Used, quota and free, for the project and for each of its people. For its members."""
    return state.database.read(service.get, who, project)


@router.put("")
def put(project: str, body: SetQuotas, who: CurrentUser, state: State) -> QuotasOut:
    """Set the project's quota (an admin) or those of its people (an owner)."""
    done = state.database.write(service.put, who, project, body, state.now())
    state.wake_scheduler()
    return done
