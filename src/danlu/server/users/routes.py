"""Users and registrations over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from danlu.server.identity import CurrentUser, RequestOrigin
from danlu.server.paging import Cursor, Limit
from danlu.server.state import State
from danlu.server.users import operations, registrations, service
from danlu.wire.base import Page
from danlu.wire.people import (
    Approve,
    ChangeUser,
    Disable,
    Invite,
    LinkOut,
    MakeLink,
    Register,
    RegisteredOut,
    RegistrationOut,
    UserOut,
)

router = APIRouter(tags=["people"])


@router.post("/registrations", status_code=202)
def register(body: Register, origin: RequestOrigin, state: State) -> RegisteredOut:
    """Open to all. Unless registration is open, the answer is the same whether the name is taken or not."""
    return operations.register(state, body, origin)


@router.get("/registrations")
def list_registrations(
    who: CurrentUser, state: State, cursor: Cursor = None, limit: Limit = 100
) -> Page[RegistrationOut]:
    """Registrations that wait for a decision. For admins."""
    return state.database.read(registrations.list_registrations, who, after=cursor or "", limit=limit)


@router.post("/registrations/{registration}/approve")
def approve(registration: str, body: Approve, who: CurrentUser, state: State) -> UserOut:
    """Approve a registration. For admins."""
    return state.database.write(registrations.approve, state, who, registration, body)


@router.delete("/registrations/{registration}", status_code=204)
def reject(registration: str, who: CurrentUser, state: State) -> Response:
    """Reject a registration. For admins."""
    state.database.write(registrations.reject, state, who, registration)
    return Response(status_code=204)


@router.get("/users")
def list_users(who: CurrentUser, state: State, cursor: Cursor = None, limit: Limit = 100) -> Page[UserOut]:
    """All for admins; yourself and those with whom you share a project for others."""
    return state.database.read(service.list_users, who, after=cursor or "", limit=limit)


@router.post("/users", status_code=201)
def invite(body: Invite, who: CurrentUser, state: State) -> LinkOut:
    """Create an account and a sign-in link, which works once, within a day."""
    return state.database.write(service.invite, state, who, body)


@router.get("/users/{user}")
def get(user: str, who: CurrentUser, state: State) -> UserOut:
    """A user."""
    return state.database.read(service.get, who, user)


@router.patch("/users/{user}")
def change(user: str, body: ChangeUser, who: CurrentUser, state: State) -> UserOut:
    """Change your name and mail address; admins change any user."""
    return state.database.write(service.change, state, who, user, body)


@router.post("/users/{user}/disable")
def disable(user: str, body: Disable, who: CurrentUser, state: State) -> UserOut:
    """Sessions, links and API keys end at once. Jobs go on, unless the body says to stop them."""
    changed = state.database.write(service.disable, state, who, user, body)
    state.wake_scheduler()
    return changed


@router.post("/users/{user}/enable")
def enable(user: str, who: CurrentUser, state: State) -> UserOut:
    """Enable a disabled user. For admins."""
    return state.database.write(service.enable, state, who, user)


@router.post("/users/{user}/link", status_code=201)
def new_link(user: str, body: MakeLink, who: CurrentUser, state: State) -> LinkOut:
    """A link that signs this person in, once, within a day, and lets them choose a new password."""
    return state.database.write(service.new_link, state, who, user, body)
