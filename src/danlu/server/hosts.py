"""Which host names this server accepts."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from danlu.errors import InvalidInput


class KnownHosts:
    """On loopback, accepts only loopback names, so that a foreign web page cannot reach this server (DNS rebinding)."""

    def __init__(self, app: ASGIApp, host: str, public_url: str = "") -> None:
        self._app = app
        # a proxy on this machine forwards the public name
        known = {"127.0.0.1", "localhost", "[::1]", host, urlsplit(public_url).hostname or host}
        self._names = known if is_loopback(host) else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get("host", "") if scope["type"] in ("http", "websocket") else None
        if given is None or self._names is None or self._is_known(given):
            await self._app(scope, receive, send)
            return
        problem = f"this server is not called {given[:100]!r}; use the address that `danlu up` printed"
        await JSONResponse(InvalidInput(problem).to_wire(), status_code=400)(scope, receive, send)

    def _is_known(self, given: str) -> bool:
        name = given if given.endswith("]") else given.rpartition(":")[0] or given
        return name in (self._names or ()) or name.endswith(".localhost")


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
