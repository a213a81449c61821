"""A client of a streaming response."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from danlu.auth.identity import UserIdentity
from danlu.server.identity import person_of
from danlu.server.sse import Frame

CONNECTION = "danlu.connection"
"""Name of the ASGI extension that `danlu.server.protocol` offers."""


class Connection(Protocol):
    """The connection of a response."""

    def write_now(self, frame: Frame) -> bool:
        """Send a whole piece of the body without waiting; False when the client is behind."""


class Follower:
    """One open stream. It holds no session, thread or lock, and nothing is queued for it.

    New events are written to its connection at once while the client keeps up. Otherwise the follower is woken, and its
    own task reads what it has missed at the client's pace.
    """

    def __init__(self, who: UserIdentity, connection: Connection | None) -> None:
        self.who = who
        """With the rights of the last check."""

        self.person = person_of(who)
        """Name under which its work is scheduled."""

        self.may_go_on: Callable[[UserIdentity], bool] = lambda _who: True
        """Called after each check of rights."""

        self.is_ended = False
        self.spoke_at = time.monotonic()
        self._connection = connection
        self._woken = asyncio.Event()
        self._is_waiting = False

    async def wait(self) -> None:
        """Wait until woken. Meanwhile `say` sends at once."""
        self._is_waiting = True
        try:
            await self._woken.wait()
        finally:
            self._is_waiting = False
        self._woken.clear()

    def say(self, frame: Frame) -> bool:
        """Send at once; False when that is not possible now: then wake it."""
        can_hear = self._is_waiting and not self._woken.is_set() and self._connection is not None
        if not can_hear or not self._connection.write_now(frame):  # type: ignore[union-attr]
            return False
        self.spoke_at = time.monotonic()
        return True

    def wake(self) -> None:
        self._woken.set()

    def end(self) -> None:
        """End the stream: the client has disconnected or lost access, or the server is about to stop."""
        self.is_ended = True
        self._woken.set()
