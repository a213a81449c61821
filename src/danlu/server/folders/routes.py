"""Folders of runs over HTTP. Who sees a project sees all of its folders."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Query
from fastapi.responses import Response

from danlu.server.folders import service as folders
from danlu.server.identity import CurrentActor, CurrentIdentity
from danlu.server.state import State
from danlu.wire.base import Page
from danlu.wire.runs import FolderOut, MakeFolder, MoveFolder

router = APIRouter(prefix="/folders", tags=["runs"])


@router.get("")
def list_folders(who: CurrentIdentity, state: State) -> Page[FolderOut]:
    """All folders of your projects, parents before their children. A job sees those of its own project."""
    return Page(items=state.database.read(folders.list_folders, who))


@router.post("", status_code=201)
def make(body: MakeFolder, who: CurrentIdentity, state: State) -> FolderOut:
    """Create a folder, and those above it. Idempotent. A job creates them in its own project."""
    return state.database.write(folders.make_folder, state, who, body)


@router.post("/move")
def move(body: MoveFolder, who: CurrentActor, state: State) -> FolderOut:
    """Move or rename a folder with all that is in it."""
    return state.database.write(folders.move_folder, state, who, body)


@router.delete("", status_code=204)
def delete(
    who: CurrentActor,
    state: State,
    path: Annotated[str, Query(min_length=1, max_length=500)],
    project: Annotated[Optional[str], Query(max_length=100)] = None,
) -> Response:
    """Delete a folder; its runs and those below it move to the trash."""
    state.database.write(folders.delete_folder, state, who, path, project)
    return Response(status_code=204)
