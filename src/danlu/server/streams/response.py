"""The streaming response."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Optional

from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from danlu.auth.identity import UserIdentity
from danlu.errors import TooManyRequests
from danlu.server import sse
from danlu.server.admission.slots import Slots
from danlu.server.failures import answer_to
from danlu.server.streams.follower import CONNECTION, Follower
from danlu.server.streams.hub import Hub

Tell = Callable[[Hub, Follower], AsyncGenerator[bytes, None]]
"""Yields events at the follower's pace, and waits (`Follower.wait`) when there are no more."""


class Stream(Response):
    """A response to one follower, until it is complete, or the client disconnects or loses access.

    It counts for the user's limit of open streams; beyond that the response is 429.
    """

    media_type = sse.MEDIA_TYPE

    def __init__(
        self,
        hub: Hub,
        who: UserIdentity,
        tell: Tell,
        *,
        slots: Slots | None = None,
        media_type: str = sse.MEDIA_TYPE,
        headers: Mapping[str, str] = sse.HEADERS,
    ) -> None:
        self.status_code = 200
        self.background = None
        self.media_type = media_type
        self.init_headers(headers)
        self._hub, self._who, self._tell = hub, who, tell
        self._slots = hub.streams if slots is None else slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        follower = Follower(self._who, scope.get("extensions", {}).get(CONNECTION))
        try:
            self._slots.take(follower.person)
        except TooManyRequests as error:
            await answer_to(error)(scope, receive, send)
            return
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await self._run(follower, receive, send)
        finally:
            self._slots.give_back(follower.person)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _run(self, follower: Follower, receive: Receive, send: Send) -> None:
        listener = asyncio.create_task(_end_when_gone(receive, follower))
        try:
            with self._hub.joined(follower):
                async with aclosing(self._tell(self._hub, follower)) as pieces:
                    async for piece in pieces:
                        if follower.is_ended:
                            return
                        if piece:
                            await send({"type": "http.response.body", "body": piece, "more_body": True})
                            follower.spoke_at = time.monotonic()
        finally:
            listener.cancel()
            with suppress(asyncio.CancelledError):
                await listener


async def in_turn(hub: Hub, follower: Follower, pieces: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Pieces that take work to create: each is created when the one before was sent."""
    while not follower.is_ended:
        piece: Optional[bytes] = await hub.read(follower, next, pieces, None)
        if piece is None:
            return
        yield piece


async def _end_when_gone(receive: Receive, follower: Follower) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    follower.end()
