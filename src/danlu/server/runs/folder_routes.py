"""Folders of runs over HTTP. Who sees a project sees all of its folders."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Query
from fastapi.responses import Response

from danlu.server.identity import CurrentUser
from danlu.server.runs import service
from danlu.server.scope import project_to_use, visible_project_ids
from danlu.server.state import State
from danlu.store.queries import people, run_folders
from danlu.wire.base import Page
from danlu.wire.runs import FolderOut, MakeFolder, MoveFolder

router = APIRouter(prefix="/folders", tags=["runs"])


@router.get("")
def list_folders(who: CurrentUser, state: State) -> Page[FolderOut]:
    """All folders of all projects that one sees, each after the one it lies in."""
    with state.database.reading() as session:
        seen = visible_project_ids(who)
        names = people.projects_by_id(session)
        counts = run_folders.num_runs(session, seen)
        rows = run_folders.list_folders(session, seen)
    return Page(
        items=[
            FolderOut(project=names[row.project_id], path=row.path, num_runs=counts.get((row.project_id, row.path), 0))
            for row in rows
        ]
    )


@router.post("", status_code=201)
def make(body: MakeFolder, who: CurrentUser, state: State) -> FolderOut:
    """Make a folder, and those above it. Quiet when it is there."""
    with state.database.writing() as session:
        path = service.make_folder(session, state, who, body.path, body.project)
        project_id = project_to_use(session, who, body.project)
        num_runs = run_folders.num_runs(session, [project_id]).get((project_id, path), 0)
        return FolderOut(project=people.projects_by_id(session)[project_id], path=path, num_runs=num_runs)


@router.post("/move")
def move(body: MoveFolder, who: CurrentUser, state: State) -> FolderOut:
    """Move or rename a folder with all that is in it."""
    with state.database.writing() as session:
        path = service.move_folder(session, state, who, body.path, body.to, body.project)
        project_id = project_to_use(session, who, body.project)
        num_runs = run_folders.num_runs(session, [project_id]).get((project_id, path), 0)
        return FolderOut(project=people.projects_by_id(session)[project_id], path=path, num_runs=num_runs)


@router.delete("", status_code=204)
def delete(
    who: CurrentUser,
    state: State,
    path: Annotated[str, Query(min_length=1, max_length=500)],
    project: Annotated[Optional[str], Query(max_length=100)] = None,
) -> Response:
    """Forget a folder; the runs in it and below it go into the bin."""
    state.database.write(service.delete_folder, state, who, path, project)
    return Response(status_code=204)
