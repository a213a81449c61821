"""Serves the console, at every path that no other route has."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from danlu.errors import NotFound
from danlu.server.console.files import Console
from danlu.server.page_style import code, language_of, page, paragraph
from danlu.server.runs.media_pages import PLOTLY_SCRIPT
from danlu.wire.pages import html, joined

POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
        "connect-src 'self'; media-src 'self' blob:; frame-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Vary": "Accept-Encoding",
}


class ConsoleRoute(BaseRoute):
    """The last route. Paths below /api are not matched, so that they are reported as not found."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        is_page = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        return (Match.FULL if is_page and not scope["path"].startswith("/api/") else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(Request(scope))(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        path = request.url.path
        if not self._console.is_built:
            return _not_built(request, status=200 if path == "/" else 404)
        return console_page(self._console, request)


def _not_built(request: Request, status: int) -> Response:
    reader = language_of(request)
    description = html('<a href="{to}">openapi.json</a>', to="/api/v1/openapi.json")
    without = paragraph(
        "works_without", reader, first=code("danlu ps"), second=code("danlu run"), description=description
    )
    body = joined(paragraph("not_built", reader, make=code("make web")), without)
    return page("no_console", body, reader=reader, status=status)


def console_route(console: Console) -> BaseRoute:
    return ConsoleRoute(console)


def console_page(console: Console, request: Request) -> Response:
    path = request.url.path
    file = console.find(path, request.headers.get("Accept-Encoding", ""))
    if file is None:
        return JSONResponse(NotFound(f"no {path} here").to_wire(), status_code=404)
    headers = {**POLICY, "Cache-Control": file.caching}
    if path == PLOTLY_SCRIPT:  # for frames of figures, which have no origin
        headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    if file.encoding:
        headers["Content-Encoding"] = file.encoding
    return FileResponse(file.path, media_type=file.media_type, headers=headers)
