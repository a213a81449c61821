"""Invitations to projects over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from danlu.server.identity import CurrentUser
from danlu.server.projects import invitations
from danlu.server.state import State
from danlu.wire.base import Page
from danlu.wire.projects import InvitationOut, InviteMember, ProjectOut

router = APIRouter(tags=["projects"])


@router.post("/projects/{project}/invitations", status_code=201)
def invite(project: str, body: InviteMember, who: CurrentUser, state: State) -> InvitationOut:
    """Invite a user. For owners. The answer is the same whether the user exists or not."""
    return state.database.write(invitations.invite, state, who, project, body)


@router.get("/projects/{project}/invitations")
def list_of_project(project: str, who: CurrentUser, state: State) -> Page[InvitationOut]:
    """Who is invited and has not answered. For owners."""
    return Page(items=state.database.read(invitations.list_of_project, state, who, project))


@router.delete("/projects/{project}/invitations/{user}", status_code=204)
def withdraw(project: str, user: str, who: CurrentUser, state: State) -> Response:
    """Withdraw an invitation. For owners."""
    state.database.write(invitations.withdraw, state, who, project, user)
    return Response(status_code=204)


@router.get("/invitations")
def list_mine(who: CurrentUser, state: State) -> Page[InvitationOut]:
    """The projects that you are invited to."""
    return Page(items=state.database.read(invitations.list_mine, state, who))


@router.post("/invitations/{invitation}/accept")
def accept(invitation: str, who: CurrentUser, state: State) -> ProjectOut:
    """Become a member of the project."""
    return state.database.write(invitations.accept, state, who, invitation)


@router.delete("/invitations/{invitation}", status_code=204)
def decline(invitation: str, who: CurrentUser, state: State) -> Response:
    """Decline."""
    state.database.write(invitations.decline, state, who, invitation)
    return Response(status_code=204)
