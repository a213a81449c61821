"""Responses of the proxy itself: rejections, and the redirect to an endpoint."""

from __future__ import annotations

import html
import json

import h11

from danlu.errors import DanluError

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body{{font:16px/1.6 sans-serif;max-width:40em;margin:4em auto;padding:0 1em}}</style>
<h1>{title}</h1><p>{told}</p></html>
"""


def refusal(error: DanluError, *, is_page: bool) -> tuple[h11.Response, bytes]:
    """A rejection, which closes the connection: a page for browsers, the usual JSON for programs."""
    if is_page:
        title = html.escape(f"{error.status} {type(error).__name__}")
        body, kind = _PAGE.format(title=title, told=html.escape(str(error))).encode(), b"text/html; charset=utf-8"
    else:
        body, kind = json.dumps(error.to_wire()).encode(), b"application/json"
    headers = [
        (b"Content-Type", kind),
        (b"Content-Length", str(len(body)).encode()),
        (b"Cache-Control", b"no-store"),
        (b"Content-Security-Policy", b"default-src 'none'; style-src 'unsafe-inline'"),
        (b"Connection", b"close"),
    ]
    return h11.Response(status_code=error.status, headers=headers, reason=b"Refused"), body


def entered(to: str, cookie: str) -> h11.Response:
    """Redirects a browser to the endpoint, with the cookie that holds its grant."""
    headers = [
        (b"Location", to.encode("ascii")),
        (b"Set-Cookie", cookie.encode("ascii")),
        (b"Referrer-Policy", b"no-referrer"),
        (b"Cache-Control", b"no-store"),
        (b"Content-Length", b"0"),
    ]
    return h11.Response(status_code=303, headers=headers, reason=b"See Other")
