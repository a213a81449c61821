"""Projects and their members over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from danlu.server.identity import CurrentReader, CurrentUser
from danlu.server.paging import Cursor, Limit
from danlu.server.projects import service
from danlu.server.state import State
from danlu.wire.base import Page
from danlu.wire.projects import ChangeProject, MakeProject, ProjectOut, ProjectSummary, SetMember

router = APIRouter(prefix="/projects", tags=["projects"])


@router.get("")
def list_projects(who: CurrentReader, state: State, cursor: Cursor = None, limit: Limit = 100) -> Page[ProjectSummary]:
    """Those that you are a member of; all for admins."""
    return state.database.read(service.list_projects, who, after=cursor or "", limit=limit)


@router.post("", status_code=201)
def make(body: MakeProject, who: CurrentUser, state: State) -> ProjectOut:
    """Create a project. For admins."""
    return state.database.write(service.make, state, who, body)


@router.get("/{project}")
def get(project: str, who: CurrentReader, state: State) -> ProjectOut:
    """A project with its members, buckets and number of jobs."""
    return state.database.read(service.get, who, project)


@router.patch("/{project}")
def change(project: str, body: ChangeProject, who: CurrentUser, state: State) -> ProjectOut:
    """Rename, describe, archive or bring back."""
    return state.database.write(service.change, state, who, project, body)


@router.delete("/{project}", status_code=204)
def delete(project: str, who: CurrentUser, state: State) -> Response:
    """Delete an empty project; otherwise the answer lists what is in it."""
    state.database.write(service.delete, state, who, project)
    return Response(status_code=204)


@router.put("/{project}/members/{user}")
def set_member(project: str, user: str, body: SetMember, who: CurrentUser, state: State) -> ProjectOut:
    """Change the role of a member. Admins can add any user; owners invite: `POST /projects/{project}/invitations`."""
    return state.database.write(service.set_member, state, who, project, user, body=body)


@router.delete("/{project}/members/{user}", status_code=204)
def remove_member(project: str, user: str, who: CurrentUser, state: State) -> Response:
    """Remove a member, or leave. The last owner cannot."""
    state.database.write(service.remove_member, state, who, project, user)
    return Response(status_code=204)
