"""The pages of signing in by OpenID Connect."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from danlu.errors import DanluError
from danlu.server.identity import RequestOrigin
from danlu.server.oidc import operations, service
from danlu.server.page_style import HEADERS, Reader, failure_page, link, page, paragraph, paragraph_of
from danlu.server.people.routes import set_cookie
from danlu.server.state import ServerState, State
from danlu.spec.messages.languages import Language
from danlu.wire.pages import html, joined

router = APIRouter(prefix="/signin/oidc", include_in_schema=False)
COOKIE = "danlu_oidc"
PATH = "/signin/oidc"


@router.get("")
def begin(request: Request, state: State, reader: Reader) -> Response:
    """Send the browser to the provider."""
    try:
        url, kept = service.begin(state, request.app.state.oidc)
    except DanluError as error:
        return _problem(error, reader)
    response = RedirectResponse(url, status_code=303, headers=HEADERS)
    # lax: the provider sends the browser back from another site
    response.set_cookie(COOKIE, kept, httponly=True, samesite="lax", secure=_is_https(state), max_age=600, path=PATH)
    return response


@router.get("/callback")
def finish(request: Request, state: State, origin: RequestOrigin, reader: Reader) -> Response:
    """Where the provider sends the browser back to."""
    given = {name: request.query_params[name] for name in ("code", "state", "error") if name in request.query_params}
    try:
        kept = request.cookies.get(COOKIE, "")
        done = operations.finish(state, request.app.state.oidc, cookie=kept, given=given, origin=origin)
    except DanluError as error:
        return _problem(error, reader)
    if done is None:
        response = page("waiting", paragraph_of(service.WAITS, reader), reader=reader, status=202)
    else:
        session, cookie = done
        # a page, not a redirect: browsers send no strict cookie on redirects that began at another site
        signed_in = paragraph("signed_in_as", reader, name=html("<b>{name}</b>", name=session.user))
        onwards = (link("/", "open_console", reader=reader), link("/signin/cli", "use_command_line", reader=reader))
        response = page("signed_in", joined(signed_in, *onwards), reader=reader)
        set_cookie(state, response, cookie)
    response.delete_cookie(COOKIE, path=PATH)
    return response


def _problem(error: DanluError, reader: Language) -> HTMLResponse:
    return failure_page("sign_in", error, link("/signin", "sign_in", reader=reader), reader=reader)


def _is_https(state: ServerState) -> bool:
    return state.settings.reached_at.startswith("https://")
