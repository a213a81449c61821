"""What jobs use, over HTTP."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Query

from danlu.server.identity import CurrentReader
from danlu.server.state import State
from danlu.server.usage import service
from danlu.wire.usage import UsageOut

router = APIRouter(prefix="/jobs", tags=["jobs"])
Rank = Annotated[int, Query(ge=0, le=1_000_000)]


@router.get("/{job}/usage")
def read(
    job: str,
    who: CurrentReader,
    state: State,
    attempt: Annotated[Optional[int], Query(ge=1, le=2**31)] = None,
    rank: Annotated[Optional[list[Rank]], Query(max_length=4096)] = None,
    points: Annotated[int, Query(ge=1, le=2000)] = 300,
) -> UsageOut:
    """What the tasks of an attempt (the newest, unless one is named) used over time, each in so many points at most.

    Where there are many tasks, each has fewer points.
    """
    asked = state.database.read(service.find_tasks, who, job, attempt=attempt, ranks=rank or ())
    return service.usage_out(state.usage, asked, num_points=points)
