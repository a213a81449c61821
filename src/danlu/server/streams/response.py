"""The answer that goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress

from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from danlu.auth.identity import UserIdentity
from danlu.server import sse
from danlu.server.streams.follower import CONNECTION, Follower
from danlu.server.streams.hub import Hub

Tell = Callable[[Hub, Follower], AsyncGenerator[bytes, None]]
"""Yields what a follower is told at its own pace, and waits (`Follower.wait`) when it has been told all."""


class Stream(Response):
    """Server-sent events to one follower, until there is nothing more to tell or nobody listens."""

    media_type = sse.MEDIA_TYPE

    def __init__(self, hub: Hub, who: UserIdentity, tell: Tell) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(sse.HEADERS)
        self._hub, self._who, self._tell = hub, who, tell

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        follower = Follower(self._who, scope.get("extensions", {}).get(CONNECTION))
        listener = asyncio.create_task(_end_when_gone(receive, follower))
        try:
            with self._hub.joined(follower):
                async with aclosing(self._tell(self._hub, follower)) as pieces:
                    async for piece in pieces:
                        if follower.is_ended:
                            break
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                        follower.spoke_at = time.monotonic()
        finally:
            listener.cancel()
            with suppress(asyncio.CancelledError):
                await listener
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _end_when_gone(receive: Receive, follower: Follower) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    follower.end()
