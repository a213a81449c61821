"""TensorBoard of ended jobs over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from danlu.server.identity import CurrentUser
from danlu.server.state import State
from danlu.server.viewers import operations
from danlu.wire.jobs import JobOut

router = APIRouter(prefix="/jobs/{job}/viewers", tags=["endpoints"])


@router.post("", status_code=201)
def view(job: str, who: CurrentUser, state: State) -> JobOut:
    """A small job of yours that shows an ended job in TensorBoard: the one that runs already, or a new one."""
    viewer = operations.view(state, who, job)
    state.wake_scheduler(only_queue=True)
    return viewer
