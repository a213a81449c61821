"""Sign-in, the own account and API keys over HTTP."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from danlu.auth import secrets
from danlu.server.identity import COOKIE, CurrentUser
from danlu.server.people import service
from danlu.server.state import State
from danlu.store import people
from danlu.wire.auth import KeyOut, MakeKey, MeOut, NewKeyOut, SessionOut, SetPassword, SignIn
from danlu.wire.base import Page

router = APIRouter(tags=["people"])


@router.post("/session")
def sign_in(body: SignIn, state: State, response: Response) -> SessionOut:
    """Open to all: this is where credentials come from."""
    session, cookie = service.sign_in(state, body)
    set_cookie(response, cookie)
    return session


@router.delete("/session", status_code=204)
def sign_out(request: Request, _who: CurrentUser, state: State) -> Response:
    state.database.write(service.sign_out, request.cookies.get(COOKIE, ""))
    response = Response(status_code=204)
    response.delete_cookie(COOKIE)
    return response


@router.get("/me")
def me(who: CurrentUser, state: State) -> MeOut:
    return state.database.read(service.me, who)


@router.put("/me/password", status_code=204)
def set_password(body: SetPassword, who: CurrentUser, state: State) -> Response:
    state.database.write(people.set_password, who.user_id, secrets.hash_password(body.password))
    return Response(status_code=204)


@router.post("/keys", status_code=201)
def make_key(body: MakeKey, who: CurrentUser, state: State) -> NewKeyOut:
    return state.database.write(service.make_key, who, body, state.now())


@router.get("/keys")
def list_keys(who: CurrentUser, state: State) -> Page[KeyOut]:
    rows = state.database.read(people.keys_of, who.user_id)
    return Page(items=[service.key_out(row) for row in rows])


@router.delete("/keys/{key_id}", status_code=204)
def delete_key(key_id: str, who: CurrentUser, state: State) -> Response:
    state.database.write(service.delete_key, who, key_id)
    return Response(status_code=204)


def set_cookie(response: Response, value: str) -> None:
    response.set_cookie(COOKIE, value, httponly=True, samesite="strict", max_age=14 * 86400)
