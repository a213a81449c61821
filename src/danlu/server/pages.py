"""The few pages that are needed to sign in with a browser."""

from __future__ import annotations

from html import escape
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from danlu.errors import DanluError
from danlu.server.identity import origin_of
from danlu.server.people.routes import set_cookie
from danlu.server.people.sign_in import sign_in
from danlu.server.state import State
from danlu.wire.auth import SignIn

router = APIRouter(include_in_schema=False)
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
MAX_FORM_BYTES = 10_000
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Danlu</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}}
button{{font:inherit;padding:.5rem 1.5rem}}code{{background:#8882;padding:.1rem .3rem}}</style>
<h1>Danlu 丹炉</h1>{body}</html>"""


@router.get("/")
def home() -> HTMLResponse:
    return _page(
        "<p>The server is running. Use it with <code>danlu ps</code>, <code>danlu run</code> or the SDK; "
        'the API is described in <a href="/api/v1/openapi.json">openapi.json</a>.</p>'
    )


@router.get("/signin")
def sign_in_form(token: Annotated[str, Query(max_length=200)] = "") -> HTMLResponse:
    """Ask for a click: a link that signs in by being looked at would be used up by mail scanners and previews."""
    return _page(
        f'<form method="post" action="/signin"><input type="hidden" name="token" value="{escape(token)}">'
        "<p>This link signs you in once.</p>"
        '<p><label>New password, if you want one <input type="password" name="new_password" '
        'autocomplete="new-password" minlength="8"></label></p><button>Sign in</button></form>'
        "<p>On the command line: <code>danlu login LINK</code></p>"
    )


@router.post("/signin")
async def use_link(request: Request, state: State) -> Response:
    body = (await request.body())[:MAX_FORM_BYTES]
    form = {name: values[0] for name, values in parse_qs(body.decode(errors="replace")).items()}
    try:
        asked = SignIn(token=form.get("token", ""), new_password=form.get("new_password"))
        _, cookie = await run_in_threadpool(sign_in, state, asked, origin_of(request))
    except (DanluError, ValueError) as error:
        told = error.message if isinstance(error, DanluError) else "a password has at least 8 characters"
        return _page(f"<p>{escape(told)}.</p>", status=401)
    response = RedirectResponse("/", status_code=303, headers=HEADERS)
    set_cookie(state, response, cookie)
    return response


def _page(body: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(body=body), status_code=status, headers=HEADERS)
