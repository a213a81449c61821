"""Internal requests to this server's own API: with the same rights, limits and audit log as external ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode

from starlette.types import ASGIApp, Message, Receive, Scope, Send

API = "/api/v1"
_KEPT = ("type", "asgi", "http_version", "scheme", "server", "client", "root_path", "state", "app")
"""What an internal request takes from the external one."""


class InnerAnswer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def values(self) -> dict[str, Any]:
        found = json.loads(self.body)
        return found if isinstance(found, dict) else {}

    @property
    def message(self) -> str:
        """The message of an error."""
        try:
            return str(self.values.get("message", ""))
        except ValueError:
            return ""


class Inner:
    """The API, called with one key."""

    def __init__(self, app: ASGIApp, scope: Scope, *, host: str, api_key: str) -> None:
        self._app, self._outer = app, scope
        self._headers = {"host": host, "authorization": f"Bearer {api_key}"}

    async def send(
        self, method: str, path: str, *, receive: Receive, send: Send, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a request whose body is read with `receive`; the response goes to `send`. `path` may have a query."""
        plain, _, query = path.partition("?")
        all_headers = {**self._headers, **(headers or {})}
        scope: Scope = {
            **{name: self._outer[name] for name in _KEPT if name in self._outer},
            "method": method,
            "path": API + unquote(plain),
            "raw_path": (API + plain).encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in all_headers.items()],
            "extensions": {},  # without the connection's, so that bodies pass `receive`, which may check them
        }
        await self._app(scope, receive, send)

    async def ask(self, method: str, path: str, *, headers: Mapping[str, str] | None = None) -> InnerAnswer:
        """Send a request without a body and read its whole response."""
        messages: list[Message] = []
        is_told = False

        async def receive() -> Message:
            nonlocal is_told
            if is_told:
                await asyncio.Event().wait()  # no disconnect before the response is complete
            is_told = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            messages.append(message)

        await self.send(method, path, receive=receive, send=send, headers=headers)
        return collected(messages)


def collected(messages: list[Message]) -> InnerAnswer:
    start = next((one for one in messages if one["type"] == "http.response.start"), None)
    if start is None:
        return InnerAnswer(500, {}, b"")
    body = b"".join(one.get("body", b"") for one in messages if one["type"] == "http.response.body")
    return InnerAnswer(start["status"], plain_headers(start), body)


def plain_headers(start: Message) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start.get("headers", ())}


def object_path(bucket: str, key: str) -> str:
    return f"/buckets/{quote(bucket, safe='')}/objects/{quote(key, safe='/')}"


def listing_path(bucket: str, **query: Any) -> str:
    wanted = {name: value for name, value in query.items() if value not in ("", None)}
    return f"/buckets/{quote(bucket, safe='')}/objects?{urlencode(wanted)}"
