"""HTTP/1.1 as this server speaks it: uvicorn's, with deadlines, and a direct way out for what many are sent at once."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from h11._readers import ContentLengthReader
from uvicorn.protocols.http.h11_impl import H11Protocol

from danlu.auth.throttle import network_of
from danlu.errors import RequestTimeout
from danlu.server.bodies.direct import Receiver
from danlu.server.settings import ServerSettings
from danlu.server.sse import Frame
from danlu.server.streams.follower import CONNECTION

MAX_WAITING_BYTES = 256 << 10
"""Most that waits for one reader. Whoever is further behind reads the store at their own pace."""

MIN_DIRECT_BYTES = 128 << 10
"""Less than that is not worth a change of protocols."""

MIN_BODY_BYTES = 16 << 10
"""What a body brings within `request_seconds`, unless it ends."""

LINGER_SECONDS, LINGER_BYTES = 5.0, 8 << 20
"""How long, and how much, a client may go on sending after it was answered: cut off at once, it misses the answer."""


@dataclass
class ConnectionLimits:
    """What holds for all connections of a server."""

    request_seconds: float = 20.0
    reading_seconds: float = 60.0
    per_address: int = 0
    trusted: frozenset[str] = frozenset()
    """Addresses of proxies, which speak for many."""

    num_by_address: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, settings: ServerSettings) -> ConnectionLimits:
        return cls(
            request_seconds=settings.request_seconds,
            reading_seconds=settings.reading_seconds,
            per_address=settings.max_connections_per_address,
            trusted=settings.trusted_addresses,
        )


def http_protocol(settings: ServerSettings) -> type[HttpProtocol]:
    """The class that uvicorn makes an instance of for each connection."""
    return type("ServerProtocol", (HttpProtocol,), {"limits": ConnectionLimits.of(settings)})


class HttpProtocol(H11Protocol):
    """One connection. Answers find it as the ASGI extension `danlu.connection`."""

    limits: ClassVar[ConnectionLimits] = ConnectionLimits()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._answer = self.app
        self.app = self._answer_with_connection
        self._address: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._waits_since = time.monotonic()
        """When the request began to be read, and its body last brought enough."""

        self._num_received = 0
        self._unread_since: float | None = None
        self._is_lingering = False

    # asyncio's side

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        limits, address = self.limits, self.client[0] if self.client else ""
        if limits.per_address and address not in limits.trusted:
            place = network_of(address)  # whoever has one address of IPv6 has very many
            if limits.num_by_address[place] >= limits.per_address:
                transport.abort()
                return
            limits.num_by_address[place] += 1
            self._address = place
        self._look_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()
        if self._address is not None:
            self.limits.num_by_address[self._address] -= 1
            if not self.limits.num_by_address[self._address]:
                del self.limits.num_by_address[self._address]

    def data_received(self, data: bytes) -> None:
        self._num_received += len(data)
        if self._is_lingering:
            if self._num_received > LINGER_BYTES:
                self.transport.abort()
            return
        was_reading = self._is_reading_head()
        super().data_received(data)
        if was_reading and not self._is_reading_head():
            self._waits_since, self._num_received = time.monotonic(), 0

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_since = time.monotonic()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread_since = None

    def on_response_complete(self) -> None:
        is_body_left = self.cycle.more_body and not self.transport.is_closing()
        super().on_response_complete()
        self._waits_since, self._num_received = time.monotonic(), 0
        if is_body_left:
            self._linger()

    # our side

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

    async def fill(self, view: memoryview) -> int:
        """Fill a buffer with the next bytes of the body; return how many.

        The last byte of a body is left to h11, which then sees the end of the message by itself.
        """
        cycle, reader = self.cycle, self.conn._reader  # nothing public says how much of a body is left
        if not isinstance(reader, ContentLengthReader) or cycle.waiting_for_100_continue or cycle.disconnected:
            return 0
        has = min(len(cycle.body), len(view))
        size = min(len(view) - has, reader._remaining - 1)
        if size < MIN_DIRECT_BYTES:
            return 0
        view[:has] = cycle.body[:has]
        del cycle.body[:has]
        reader._remaining -= size  # before the bytes come: what follows them may reach h11 before this task goes on
        receiver = Receiver(self, self.transport, view[has : has + size], arrived=self._count)
        self.transport.set_protocol(receiver)
        self.flow.resume_reading()
        try:
            await receiver.is_full
        except BaseException:
            self.transport.abort()  # in the middle of a body there is no way back
            raise
        return has + size

    async def _answer_with_connection(self, scope: Any, receive: Any, send: Any) -> None:
        scope["extensions"] = {**scope.get("extensions", {}), CONNECTION: self}
        await self._answer(scope, receive, send)

    def _count(self, num_bytes: int) -> None:
        self._num_received += num_bytes

    def _is_reading_head(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _look_soon(self) -> None:
        seconds = min(self.limits.request_seconds, self.limits.reading_seconds) / 4
        self._timer = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """See whether the client does its part."""
        now = time.monotonic()
        if self.transport.is_closing():
            self._unread_since = self._unread_since or now
        if self._unread_since is not None and now - self._unread_since > self.limits.reading_seconds:
            self._cut()
            return
        if self._is_late(now):
            self._give_up()
        self._look_soon()

    def _is_late(self, now: float) -> bool:
        """Whether a request takes too long to arrive. Time in which we did not read is not the client's."""
        if self.transport.is_closing():
            return False
        is_body = not self._is_reading_head() and self.cycle.more_body
        if is_body:
            is_ours = self.flow.read_paused or self.cycle.waiting_for_100_continue
            if is_ours or self._num_received >= MIN_BODY_BYTES:
                self._waits_since, self._num_received = now, 0
        is_waiting = is_body or (self._is_reading_head() and self.timeout_keep_alive_task is None)
        return is_waiting and now - self._waits_since > self.limits.request_seconds

    def _give_up(self) -> None:
        """Say so where nothing has been said yet, and close."""
        if self._is_reading_head() and not self._num_received:  # opened, and never used
            self.transport.close()
            return
        if self._is_lingering or (self.cycle is not None and self.cycle.response_started and self.cycle.more_body):
            self.transport.abort()
            return
        error = RequestTimeout(f"the request did not arrive within {self.limits.request_seconds:g} s; send it again")
        body = json.dumps(error.to_wire()).encode()
        head = f"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()

    def _cut(self) -> None:
        """End the connection, and have the kernel forget what the client did not read."""
        sock = self.transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _linger(self) -> None:
        """The answer is complete and the request is not: let the client read it before the connection ends."""
        self._is_lingering = True
        self._unset_keepalive_if_required()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)
