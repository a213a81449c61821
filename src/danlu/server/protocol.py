"""HTTP/1.1 as this server speaks it: uvicorn's, and a direct way out for what many are sent at once."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from danlu.server.sse import Frame
from danlu.server.streams.follower import CONNECTION

MAX_WAITING_BYTES = 256 << 10
"""Most that waits for one reader. Whoever is further behind reads the store at their own pace."""


class HttpProtocol(H11Protocol):
    """One connection. Answers find it as the ASGI extension `danlu.connection`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._answer = self.app
        self.app = self._answer_with_connection

    def write_now(self, frame: Frame) -> bool:
        """Send a piece of the body that is under way; False when the reader is behind.

        Past h11, which would make the same chunk anew for each reader: with 500 of them that was most of the work.
        """
        if self.flow.write_paused or self.transport.is_closing() or self.cycle.response_complete:
            return False
        data = frame.chunked if self.scope["http_version"] == "1.1" else frame.plain
        if len(data) + self.transport.get_write_buffer_size() > MAX_WAITING_BYTES:
            return False
        self.transport.write(data)
        return True

    async def _answer_with_connection(self, scope: Any, receive: Any, send: Any) -> None:
        scope["extensions"] = {**scope.get("extensions", {}), CONNECTION: self}
        await self._answer(scope, receive, send)
