"""Metrics pushed to a job."""

from __future__ import annotations

from fastapi import APIRouter

from danlu.server.identity import CurrentIdentity
from danlu.server.runs.pushed import push
from danlu.server.runs.view import run_out
from danlu.server.state import State
from danlu.store.queries import runs
from danlu.wire.runs import PushMany, RunOut

router = APIRouter(prefix="/jobs", tags=["runs"])


@router.post("/{job}/metrics", status_code=201)
def push_metrics(job: str, body: PushMany, who: CurrentIdentity, state: State) -> RunOut:
    """Add metrics to the run that the job has of its own, by whoever may change the job, or by the job itself."""
    row = push(state, who, job, body.metrics)
    with state.database.reading() as session:
        return run_out(session, runs.get_run(session, row.id) or row)
