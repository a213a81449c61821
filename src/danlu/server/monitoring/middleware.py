"""Counts every request, and traces it if tracing is configured."""

from __future__ import annotations

import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from danlu.server.monitoring.instruments import Instruments

OTHER = "other"
"""Label of requests without a route: pages of the console, and paths that do not exist."""


class Measured:
    """ASGI middleware outside of admission, so that requests that are rejected there count as well."""

    def __init__(self, app: ASGIApp, instruments: Instruments) -> None:
        self._app, self._instruments = app, instruments

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, method = time.perf_counter(), scope["method"]
        status = 0

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start" and not status:
                status = message["status"]
                seconds = time.perf_counter() - began
                self._instruments.count_request(method, route_of(scope), status=status, seconds=seconds)
            await send(message)

        with self._instruments.traces.span(method, Headers(scope=scope)) as span:
            await self._app(scope, receive, told)
            route = route_of(scope)
            span.update_name(f"{method} {route}")
            for name, value in (("http.request.method", method), ("http.route", route)):
                span.set_attribute(name, value)
            span.set_attribute("http.response.status_code", status)


def route_of(scope: Scope) -> str:
    """The pattern of the path, such as /api/v1/jobs/{job}: the number of paths themselves is unlimited."""
    return str(getattr(scope.get("route"), "path", OTHER))
