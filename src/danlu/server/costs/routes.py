"""Costs over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Optional

from fastapi import APIRouter, Query
from pydantic import AwareDatetime

from danlu.server.costs import service
from danlu.server.identity import CurrentUser
from danlu.server.state import State
from danlu.wire.costs import CostsOut

router = APIRouter(prefix="/costs", tags=["costs"])
At = Annotated[Optional[AwareDatetime], Query()]


@router.get("")
def costs(who: CurrentUser, state: State, since: At = None, until: At = None) -> CostsOut:
    """What jobs cost so far, by project and user, or between two moments. For admins."""
    now: datetime = state.now()
    end = now if until is None else min(until, now)
    return state.database.read(service.costs_between, who, since, end)
