"""Responses of the proxy itself: rejections, and the redirect to an endpoint."""

from __future__ import annotations

import json

import h11

from danlu.errors import DanluError
from danlu.spec.messages.catalogue import failure_in
from danlu.spec.messages.languages import TAGS, Language, word
from danlu.spec.messages.site_texts import SITE
from danlu.wire.pages import POLICY, html, sentence, whole_page


def refusal(error: DanluError, *, reader: Language | None) -> tuple[h11.Response, bytes]:
    """A rejection, which closes the connection: a page in the language of its reader, or the usual JSON for
    programs."""
    if reader is None:
        body, kind, language = json.dumps(error.to_wire()).encode(), b"application/json", TAGS["en"]
    else:
        body, kind, language = _page(error, reader).encode(), b"text/html; charset=utf-8", TAGS[reader]
    headers = [
        (b"Content-Type", kind),
        (b"Content-Language", language.encode()),
        (b"Content-Length", str(len(body)).encode()),
        (b"Cache-Control", b"no-store"),
        (b"Content-Security-Policy", POLICY.encode()),
        (b"X-Content-Type-Options", b"nosniff"),
        (b"Connection", b"close"),
    ]
    return h11.Response(status_code=error.status, headers=headers, reason=b"Refused"), body


def _page(error: DanluError, reader: Language) -> str:
    title = f"status_{error.status}"
    told = sentence(failure_in(error.message, reader), reader)
    heading = word(SITE, title if title in SITE else "status_other", language=reader)
    return whole_page(heading, html("<p>{told}</p>", told=told), language=reader)


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
