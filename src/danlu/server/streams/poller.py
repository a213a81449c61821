"""Polls what is followed: once for all followers, in one task for each kind of thing."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from danlu.errors import DanluError
from danlu.server.state import ServerState

log = logging.getLogger(__name__)

Wanted = TypeVar("Wanted")
Found = TypeVar("Found")
RunInPool = Callable[..., Coroutine[Any, Any, Any]]

SHARE = 0.05
"""Polling and sending take this share of a core at most, for any number of events and followers."""

AFTER_AN_ERROR_SECONDS = 1.0


@dataclass(frozen=True)
class Pace:
    usual_seconds: float
    """Between two looks when this server wrote nothing: others on the database may have."""

    least_seconds: float
    """Between two looks, however much is written."""

    most_seconds: float
    """Between two looks after something was written, however much work a look is."""


class Board(ABC, Generic[Wanted, Found]):
    """Everything of one kind that is followed. `look` runs in a thread, everything else on the event loop."""

    pace: ClassVar[Pace]

    def __init__(self, state: ServerState, run: RunInPool) -> None:
        self.state = state
        self.poller = Poller(self, run)

    @property
    @abstractmethod
    def is_followed(self) -> bool:
        """Whether there are followers."""

    @abstractmethod
    def wanted(self) -> Wanted:
        """What to look for: a copy that does not change while a thread reads it."""

    @abstractmethod
    def look(self, wanted: Wanted) -> Found:
        """Read the database. No session is held when this returns."""

    @abstractmethod
    def take(self, found: Found) -> bool:
        """Send to the followers; return whether there is more than one look may read."""


class Poller:
    """Polls a board while it has followers."""

    def __init__(self, board: Board[Any, Any], run: RunInPool) -> None:
        self._board, self._run_in_pool = board, run
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._has_news = False
        self._newcomers: list[asyncio.Future[None]] = []

    async def fresh(self) -> None:
        """Wait for a look that began after this call, so that no follower gets an older state."""
        newcomer = asyncio.get_running_loop().create_future()
        self._newcomers.append(newcomer)
        self._changed.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        await newcomer

    def news(self) -> None:
        """Report that something was written: the next look is due soon."""
        self._has_news = True
        self._changed.set()

    async def _run(self) -> None:
        rest = 0.0
        while self._newcomers or self._board.is_followed:
            await self._pause(rest)
            newcomers, self._newcomers = self._newcomers, []
            try:
                rest = await self._look_once()
            except Exception as error:
                self._newcomers = newcomers + self._newcomers
                rest = AFTER_AN_ERROR_SECONDS
                if isinstance(error, DanluError):
                    log.warning("polling for streams failed, retrying in a second: %s", error)
                else:  # a bug must not end the streams
                    log.exception("unexpected error while polling for streams")
                await asyncio.sleep(rest)
                continue
            for newcomer in newcomers:
                if not newcomer.done():
                    newcomer.set_result(None)
            await asyncio.sleep(0)  # newcomers become followers first

    async def _look_once(self) -> float:
        """Look and send; return how long to rest before the next look."""
        found, used = await self._run_in_pool(_timed, self._board.look, self._board.wanted())
        began = time.thread_time()
        if self._board.take(found):
            self._has_news = True
        used += time.thread_time() - began
        pace = self._board.pace
        return float(min(pace.most_seconds, max(pace.least_seconds, used * (1 / SHARE - 1))))

    async def _pause(self, rest: float) -> None:
        began = time.monotonic()
        while not self._newcomers:
            due = rest if self._has_news else max(rest, self._board.pace.usual_seconds)
            left = began + due - time.monotonic()
            if left <= 0:
                break
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()
        self._has_news = False


def _timed(look: Callable[[Any], Any], wanted: object) -> tuple[Any, float]:
    began = time.thread_time()
    return look(wanted), time.thread_time() - began
