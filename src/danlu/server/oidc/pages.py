"""The pages of signing in by OpenID Connect."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from danlu.errors import DanluError
from danlu.server.identity import RequestOrigin
from danlu.server.oidc import operations, service
from danlu.server.page_style import HEADERS, page
from danlu.server.people.routes import set_cookie
from danlu.server.state import ServerState, State

router = APIRouter(prefix="/signin/oidc", include_in_schema=False)
COOKIE = "danlu_oidc"
PATH = "/signin/oidc"


@router.get("")
def begin(request: Request, state: State) -> Response:
    """Send the browser to the provider."""
    try:
        url, kept = service.begin(state, request.app.state.oidc)
    except DanluError as error:
        return _problem(error)
    response = RedirectResponse(url, status_code=303, headers=HEADERS)
    # lax: the provider sends the browser back from another site
    response.set_cookie(COOKIE, kept, httponly=True, samesite="lax", secure=_is_https(state), max_age=600, path=PATH)
    return response


@router.get("/callback")
def finish(request: Request, state: State, origin: RequestOrigin) -> Response:
    """Where the provider sends the browser back to."""
    given = {name: request.query_params[name] for name in ("code", "state", "error") if name in request.query_params}
    try:
        kept = request.cookies.get(COOKIE, "")
        done = operations.finish(state, request.app.state.oidc, cookie=kept, given=given, origin=origin)
    except DanluError as error:
        return _problem(error)
    if done is None:
        response = page(f"<p>{escape(service.WAITS)}.</p>", status=202)
    else:
        session, cookie = done
        # a page, not a redirect: browsers send no strict cookie on redirects that began at another site
        response = page(
            f"<p>You are signed in as <b>{escape(session.user)}</b>.</p>"
            '<p><a href="/">Open the console</a></p><p><a href="/signin/cli">Use the command line</a></p>'
        )
        set_cookie(state, response, cookie)
    response.delete_cookie(COOKIE, path=PATH)
    return response


def _problem(error: DanluError) -> HTMLResponse:
    return page(f'<p>{escape(error.message)}.</p><p><a href="/signin">Sign in</a></p>', status=error.status)


def _is_https(state: ServerState) -> bool:
    return state.settings.reached_at.startswith("https://")
