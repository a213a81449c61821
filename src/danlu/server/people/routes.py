"""Sign-in, the own account and API keys over HTTP."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from danlu.auth.secrets import Sealer
from danlu.server.identity import COOKIE, CurrentIdentity, CurrentUser, RequestOrigin
from danlu.server.invalid import bad_field
from danlu.server.paging import Cursor, Limit
from danlu.server.people import operations, service, sign_in
from danlu.server.same_site import SameSite
from danlu.server.state import ServerState, State
from danlu.wire.auth import KeyOut, MakeKey, MeOut, NewKeyOut, SessionOut, SetDefaultProject, SetPassword, SignIn
from danlu.wire.base import Page

router = APIRouter(tags=["people"])


@router.post("/session")
def open_session(body: SignIn, origin: RequestOrigin, state: State, response: Response, _: SameSite) -> SessionOut:
    """Open to all: this is where credentials come from."""
    session, cookie = operations.open_session(state, body, origin)
    set_cookie(state, response, cookie)
    return session


@router.delete("/session", status_code=204)
def sign_out(request: Request, who: CurrentUser, state: State) -> Response:
    """End this browser session."""
    state.database.write(sign_in.sign_out, who, request.cookies.get(COOKIE, ""), state.now())
    response = Response(status_code=204)
    response.delete_cookie(COOKIE)
    return response


@router.get("/me")
def me(request: Request, who: CurrentIdentity, state: State) -> MeOut:
    """Who you are: name, projects, default project; for a job, the job."""
    return operations.me(state, who, request.cookies.get(COOKIE, ""))


@router.put("/me/password", status_code=204)
def set_password(request: Request, body: SetPassword, who: CurrentUser, state: State) -> Response:
    """Ends other sessions and unused links; API keys stay."""
    operations.set_password(state, who, body, request.cookies.get(COOKIE, ""))
    return Response(status_code=204)


@router.put("/me/default-project", status_code=204)
def set_default_project(body: SetDefaultProject, who: CurrentUser, state: State) -> Response:
    """Choose the project of your jobs, buckets and runs that name none. Only you can change it."""
    state.database.write(service.set_default_project, who, body, state.now())
    return Response(status_code=204)


@router.post("/keys", status_code=201)
def make_key(body: MakeKey, who: CurrentUser, state: State) -> NewKeyOut:
    """Create an API key; the answer is the only one that contains it."""
    return state.database.write(service.make_key, who, body, state.now(), sealer=sealer_of(state, body))


@router.get("/keys")
def list_keys(
    who: CurrentUser,
    state: State,
    cursor: Cursor = None,
    limit: Limit = 100,
    user: Annotated[Optional[str], Query(max_length=100)] = None,
) -> Page[KeyOut]:
    """Your own keys; for admins also those of another user."""
    return state.database.read(service.list_keys, who, user, after=cursor or "", limit=limit)


@router.delete("/keys/{key_id}", status_code=204)
def delete_key(key_id: str, who: CurrentUser, state: State) -> Response:
    """Delete a key of your own; admins may delete any key."""
    state.database.write(service.delete_key, who, key_id, state.now())
    return Response(status_code=204)


def sealer_of(state: ServerState, body: MakeKey) -> Sealer | None:
    """What a key that signs is made with."""
    if not body.signs:
        return None
    if not state.settings.tencent_door:
        raise bad_field("signs", "this server checks no signatures; an admin can set DANLU_SERVER_TENCENT_DOOR=true")
    return state.sealer


def set_cookie(state: ServerState, response: Response, value: str) -> None:
    is_https = state.settings.reached_at.startswith("https://")
    response.set_cookie(COOKIE, value, httponly=True, samesite="strict", secure=is_https, max_age=14 * 86400)
