"""Answers with the server's own pages, in the language of the reader."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from fastapi.responses import HTMLResponse
from starlette.requests import Request

from danlu.errors import DanluError
from danlu.spec.messages.catalogue import failure_in
from danlu.spec.messages.languages import TAGS, Language, accepted, word
from danlu.spec.messages.site_texts import SITE
from danlu.wire.pages import POLICY, Html, html, joined, sentence, told, whole_page

HEADERS = {
    "Content-Security-Policy": f"{POLICY}; form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def language_of(request: Request) -> Language:
    """What the browser asks for: accounts have no language."""
    return accepted(request.headers.get("Accept-Language"))


Reader = Annotated[Language, Depends(language_of)]


def page(title: str, body: Html, *, reader: Language, status: int = 200) -> HTMLResponse:
    """`title`: a code of SITE."""
    text = whole_page(word(SITE, title, language=reader), body, language=reader)
    headers = {**HEADERS, "Content-Language": TAGS[reader], "Vary": "Accept-Language"}
    return HTMLResponse(text, status_code=status, headers=headers)


def failure_page(title: str, error: DanluError, *more: Html, reader: Language) -> HTMLResponse:
    """A page that says what was refused, and what more there is."""
    return page(title, joined(paragraph_of(error.message, reader), *more), reader=reader, status=error.status)


def paragraph_of(message: str, reader: Language) -> Html:
    """A message of the server as a paragraph."""
    return html("<p>{told}</p>", told=sentence(failure_in(message, reader), reader))


def paragraph(code: str, reader: Language, /, **values: str) -> Html:
    return html("<p>{told}</p>", told=told(SITE, code, language=reader, **values))


def code(text: str) -> Html:
    return html("<code>{text}</code>", text=text)


def command(text: str) -> Html:
    """A command, on a line of its own."""
    return html('<code class="line">{text}</code>', text=text)


def link(to: str, text: str, *, reader: Language) -> Html:
    """A paragraph with a link; `text`: a code of SITE."""
    return html('<p><a href="{to}">{text}</a></p>', to=to, text=word(SITE, text, language=reader))
