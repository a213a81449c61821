"""Connections to ports of tasks: opened through the engine, and reused while both sides keep them open."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Union, cast

import h11

from danlu.gateway.tasks import Admitted, Target

PIECE_BYTES = 256 << 10
MAX_HEAD_BYTES = 64 << 10
MAX_IDLE = 8
IDLE_SECONDS = 4.0
"""Shorter than the keep-alive timeout of servers: uvicorn's default is 5 s."""


Event = Union[h11.Event, type[h11.PAUSED]]


class Upstream:
    """One connection to a port."""

    def __init__(self, target: Target, *, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.target, self.reader, self.writer = target, reader, writer
        self.http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self.is_used = False
        self.idle_since = 0.0

    async def next_event(self, seconds: float) -> Event:
        """The next part of the answer. Raise TimeoutError, or h11.RemoteProtocolError when it is not HTTP."""
        while True:
            event = self.http.next_event()
            if event is not h11.NEED_DATA:
                return cast("Event", event)
            async with asyncio.timeout(seconds):
                self.http.receive_data(await self.reader.read(PIECE_BYTES))

    def close(self) -> None:
        with suppress(OSError, RuntimeError):
            self.writer.transport.abort()


class Upstreams:
    """A pool of connections, for one event loop."""

    def __init__(self, connect: Callable[[Admitted], Awaitable[socket.socket]]) -> None:
        """`connect` returns a connected socket; it is awaited."""
        self._connect = connect
        self._idle: dict[Target, list[Upstream]] = {}
        self._is_closed = False

    async def take(self, admitted: Admitted, *, is_new: bool = False) -> Upstream:
        """Return an idle connection, or open one if there is none or `is_new` is set. Raise DanluError."""
        now, target = time.monotonic(), admitted.target
        idle = self._idle.pop(target, []) if not is_new else []
        for position, found in enumerate(reversed(idle)):
            if now - found.idle_since < IDLE_SECONDS and not found.reader.at_eof():
                rest = idle[: len(idle) - position - 1]
                if rest:
                    self._idle[target] = rest
                return found
            found.close()
        sock = await self._connect(admitted)
        reader, writer = await asyncio.open_connection(sock=sock, limit=PIECE_BYTES)
        return Upstream(target, reader=reader, writer=writer)

    def give_back(self, upstream: Upstream) -> None:
        """Keep it for the next request if the last one ended well, else close it."""
        kept = self._idle.setdefault(upstream.target, [])
        is_done = upstream.http.our_state is h11.DONE and upstream.http.their_state is h11.DONE
        if self._is_closed or not is_done or len(kept) >= MAX_IDLE or upstream.http.trailing_data[0]:
            upstream.close()
            if not kept:
                del self._idle[upstream.target]
            return
        upstream.http.start_next_cycle()
        upstream.is_used, upstream.idle_since = True, time.monotonic()
        kept.append(upstream)

    def sweep(self) -> None:
        """Close what has been idle for too long."""
        now = time.monotonic()
        for target, idle in list(self._idle.items()):
            kept = [one for one in idle if now - one.idle_since < IDLE_SECONDS and not one.reader.at_eof()]
            for one in idle:
                if one not in kept:
                    one.close()
            if kept:
                self._idle[target] = kept
            else:
                del self._idle[target]

    def close(self) -> None:
        """Close idle connections and keep no more: requests in progress close their own."""
        self._is_closed = True
        for idle in self._idle.values():
            for one in idle:
                one.close()
        self._idle.clear()
