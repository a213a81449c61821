"""Favourites over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from danlu.server.favourites import service
from danlu.server.identity import CurrentReader, CurrentUser
from danlu.server.paging import Cursor, Limit, bad_cursor
from danlu.server.state import State
from danlu.spec.fields import is_job_id
from danlu.wire.base import Page
from danlu.wire.jobs import FavouriteOut

router = APIRouter(prefix="/favourites", tags=["jobs"])


@router.get("")
def list_favourites(who: CurrentReader, state: State, cursor: Cursor = None, limit: Limit = 1000) -> Page[FavouriteOut]:
    """Which jobs are your favourites, the newest job first. `GET /jobs` with `favourites` has the jobs themselves."""
    if cursor is not None and not is_job_id(cursor):
        raise bad_cursor(cursor)
    return state.database.read(service.list_favourites, who, before=cursor, limit=limit)


@router.put("/{job}")
def add(job: str, who: CurrentUser, state: State) -> FavouriteOut:
    """Add a job to your favourites. Idempotent."""
    return state.database.write(service.add, state, who, job)


@router.delete("/{job}", status_code=204)
def remove(job: str, who: CurrentUser, state: State) -> Response:
    """Remove a job from your favourites. Idempotent."""
    state.database.write(service.remove, who, job)
    return Response(status_code=204)
