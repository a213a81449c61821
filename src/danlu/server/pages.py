"""The pages for signing in with a browser."""

from __future__ import annotations

from html import escape
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from danlu.errors import DanluError, NotAllowed
from danlu.server.console.route import console_page
from danlu.server.identity import COOKIE, browser_session, origin_of
from danlu.server.page_style import HEADERS, page
from danlu.server.people import operations
from danlu.server.people.routes import set_cookie
from danlu.server.same_site import check_same_site
from danlu.server.state import ServerState, State
from danlu.wire.auth import SignIn

router = APIRouter(include_in_schema=False)
MAX_FORM_BYTES = 10_000


@router.get("/signin")
def sign_in_form(request: Request, state: State, token: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Ask for a click: mail scanners and previews open links, and would use up one that signs in at once."""
    if state.console.is_built:
        return console_page(state.console, request)
    if not token:
        return page(_ways_in(state))
    return page(
        f'<form method="post" action="/signin"><input type="hidden" name="token" value="{escape(token)}">'
        "<p>This link signs you in once.</p>"
        '<p><label>New password, if you want one <input type="password" name="new_password" '
        'autocomplete="new-password" minlength="8"></label></p><button>Sign in</button></form>'
        "<p>On the command line: <code>danlu login LINK</code></p>"
    )


@router.post("/signin")
async def use_link(request: Request, state: State) -> Response:
    try:
        await check_same_site(request, state)
    except NotAllowed as error:
        return page(f"<p>{escape(error.message)}.</p>", status=error.status)
    form = await _form(request)
    try:
        asked = SignIn(token=form.get("token", ""), new_password=form.get("new_password"))
        _, cookie = await run_in_threadpool(operations.open_session, state, asked, origin_of(request))
    except (DanluError, ValueError) as error:
        told = error.message if isinstance(error, DanluError) else "a password has at least 8 characters"
        return page(f"<p>{escape(told)}.</p>", status=401)
    response = RedirectResponse("/", status_code=303, headers=HEADERS)
    set_cookie(state, response, cookie)
    return response


@router.get("/signin/cli")
def cli_form(request: Request, state: State) -> HTMLResponse:
    """Offer a signed-in user a link for the command line."""
    try:
        who, csrf = browser_session(state, request.cookies.get(COOKIE, ""), origin_of(request))
    except DanluError as error:
        return page(f'<p>{escape(error.message)}.</p><p><a href="/signin">Sign in</a></p>', status=401)
    return page(
        f'<form method="post" action="/signin/cli"><input type="hidden" name="csrf" value="{escape(csrf)}">'
        f"<p>You are signed in as <b>{escape(who.name)}</b>.</p>"
        "<button>Create a sign-in link for the command line</button></form>"
    )


@router.post("/signin/cli")
async def make_cli_link(request: Request, state: State) -> HTMLResponse:
    form = await _form(request)
    cookie = request.cookies.get(COOKIE, "")
    try:
        url = await run_in_threadpool(operations.own_link, state, cookie, form.get("csrf", ""), origin_of(request))
    except DanluError as error:
        return page(f"<p>{escape(error.message)}.</p>", status=error.status)
    return page(f"<p>Once, within a day:</p><p><code>danlu login '{escape(url)}'</code></p>")


async def _form(request: Request) -> dict[str, str]:
    body = (await request.body())[:MAX_FORM_BYTES]
    return {name: values[0] for name, values in parse_qs(body.decode(errors="replace")).items()}


def _ways_in(state: ServerState) -> str:
    settings = state.settings
    name = escape(settings.oidc_name)
    button = f'<p><a href="/signin/oidc">Sign in with {name}</a></p>' if settings.oidc_issuer else ""
    return (
        f"{button}<p>With a password, on the command line: <code>danlu login --name NAME --url "
        f"{escape(settings.reached_at)}</code></p><p>New here? <code>danlu register NAME --url "
        f"{escape(settings.reached_at)}</code></p>"
    )
