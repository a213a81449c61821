"""The pages for signing in with a browser."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from danlu.errors import DanluError, NotAllowed
from danlu.server.console.route import console_page
from danlu.server.identity import COOKIE, browser_session, origin_of
from danlu.server.page_style import HEADERS, Reader, command, failure_page, link, page, paragraph
from danlu.server.people import operations
from danlu.server.people.routes import set_cookie
from danlu.server.same_site import check_same_site
from danlu.server.state import ServerState, State
from danlu.spec.messages.languages import Language, word
from danlu.spec.messages.site_texts import SITE
from danlu.wire.auth import SignIn
from danlu.wire.pages import Html, html, joined, told

router = APIRouter(include_in_schema=False)
MAX_FORM_BYTES = 10_000


@router.get("/signin")
def sign_in_form(
    request: Request, state: State, reader: Reader, token: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """Ask for a click: mail scanners and previews open links, and would use up one that signs in at once."""
    if state.console.is_built:
        return console_page(state.console, request)
    if not token:
        return page("sign_in", _ways_in(state, reader), reader=reader)
    form = html(
        '<form method="post" action="/signin"><input type="hidden" name="token" value="{token}"><p>{once}</p>'
        '<p><label for="new">{new}</label><input id="new" type="password" name="new_password" '
        'autocomplete="new-password" minlength="8" aria-describedby="hint"><small id="hint">{hint}</small></p>'
        "<p><button>{sign_in}</button></p></form>",
        token=token,
        once=word(SITE, "link_once", language=reader),
        new=word(SITE, "new_password", language=reader),
        hint=word(SITE, "password_hint", language=reader),
        sign_in=word(SITE, "sign_in", language=reader),
    )
    other = paragraph("login_link", reader, command=command("danlu login LINK"))
    return page("with_link", joined(form, other), reader=reader)


@router.post("/signin")
async def use_link(request: Request, state: State, reader: Reader) -> Response:
    try:
        await check_same_site(request, state)
    except NotAllowed as error:
        return failure_page("sign_in", error, reader=reader)
    form = await _form(request)
    try:
        asked = SignIn(token=form.get("token", ""), new_password=form.get("new_password"))
        _, cookie = await run_in_threadpool(operations.open_session, state, asked, origin_of(request))
    except DanluError as error:
        return failure_page("sign_in", error, reader=reader)
    except ValueError:
        return page("sign_in", paragraph("short_password", reader), reader=reader, status=401)
    response = RedirectResponse("/", status_code=303, headers=HEADERS)
    set_cookie(state, response, cookie)
    return response


@router.get("/signin/cli")
def cli_form(request: Request, state: State, reader: Reader) -> HTMLResponse:
    """Offer a signed-in user a link for the command line."""
    try:
        who, csrf = browser_session(state, request.cookies.get(COOKIE, ""), origin_of(request))
    except DanluError as error:
        return failure_page("command_line", error, link("/signin", "sign_in", reader=reader), reader=reader)
    form = html(
        '<form method="post" action="/signin/cli"><input type="hidden" name="csrf" value="{csrf}">'
        "<p><button>{make}</button></p></form>",
        csrf=csrf,
        make=word(SITE, "make_link", language=reader),
    )
    signed_in = paragraph("signed_in_as", reader, name=html("<b>{name}</b>", name=who.name))
    return page("command_line", joined(signed_in, form), reader=reader)


@router.post("/signin/cli")
async def make_cli_link(request: Request, state: State, reader: Reader) -> HTMLResponse:
    form = await _form(request)
    cookie = request.cookies.get(COOKIE, "")
    try:
        url = await run_in_threadpool(operations.own_link, state, cookie, form.get("csrf", ""), origin_of(request))
    except DanluError as error:
        return failure_page("command_line", error, reader=reader)
    return page("command_line", paragraph("made_link", reader, command=command(f"danlu login '{url}'")), reader=reader)


async def _form(request: Request) -> dict[str, str]:
    body = (await request.body())[:MAX_FORM_BYTES]
    return {name: values[0] for name, values in parse_qs(body.decode(errors="replace")).items()}


def _ways_in(state: ServerState, reader: Language) -> Html:
    settings = state.settings
    url = settings.reached_at
    button = html(
        '<p><a class="button" href="/signin/oidc">{text}</a></p>',
        text=told(SITE, "with_provider", language=reader, name=settings.oidc_name),
    )
    password = paragraph("with_password", reader, command=command(f"danlu login --name NAME --url {url}"))
    new = paragraph("new_here", reader, command=command(f"danlu register NAME --url {url}"))
    return joined(*([button] if settings.oidc_issuer else []), password, new)
