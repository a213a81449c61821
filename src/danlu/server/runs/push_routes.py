"""Metrics pushed to a job."""

from __future__ import annotations

from fastapi import APIRouter

from danlu.server.identity import CurrentIdentity
from danlu.server.runs import operations
from danlu.server.state import State
from danlu.wire.runs import PushMany, RunOut

router = APIRouter(prefix="/jobs", tags=["runs"])


@router.post("/{job}/metrics", status_code=201)
def push_metrics(job: str, body: PushMany, who: CurrentIdentity, state: State) -> RunOut:
    """Add metrics to the job's own run. For users who may change the job, and for the job itself."""
    return operations.push(state, who, job, body.metrics)
