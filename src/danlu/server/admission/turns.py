"""Fair scheduling of requests: users share the server's threads, and nobody waits behind all requests of another user.

Python runs one thread at a time: a user with 40 concurrent requests would slow down all others 40 times. So a user who
is alone may have many requests in progress. While others are active, each user has one, and one more for each of theirs
that takes long.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from danlu.errors import TooManyRequests

MAX_ALONE = 16
MAX_SHARED = 4
MAX_TOTAL = 32
"""Requests in progress: of a user who is alone, of one of several, and of all together. There are 40 threads."""

MAX_STRANGERS = 8
"""Requests in progress of all unauthenticated clients, from however many addresses: the rest is reserved for users."""

STRANGER = "address "
"""Prefix of the names of unauthenticated clients, followed by their address."""

JOBS = "jobs of "
"""Prefix of the name that all jobs of one user share: they are many, and may wait."""

LONG_SECONDS = 0.05
"""A request that takes longer than this lets another of the same user begin."""

ACTIVE_SECONDS = 1.0
"""A user is active for this long after a request."""

MAX_WAITING, MAX_JOBS_WAITING = 200, 4000
MAX_WAIT_SECONDS = 30.0
RETRY_SECONDS = 2


@dataclass(eq=False)
class Turn:
    """Held by a request until its response begins."""

    person: str
    began_at: float = 0.0
    is_over: bool = False


@dataclass
class _Person:
    under_way: set[Turn] = field(default_factory=set)
    waiting: deque[tuple[Turn, asyncio.Future[None]]] = field(default_factory=deque)
    asked_at: float = 0.0


class Turns:
    """For one event loop; not thread-safe."""

    def __init__(self, *, max_waiting: int = MAX_WAITING, max_wait_seconds: float = MAX_WAIT_SECONDS) -> None:
        self._people: dict[str, _Person] = {}
        self._num_under_way = 0
        self._num_strangers = 0
        self._max_waiting, self._max_wait_seconds = max_waiting, max_wait_seconds
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def turn(self, person: str) -> AsyncIterator[Turn]:
        """Wait for a turn. `end` may end it early."""
        turn = await self.take(person)
        try:
            yield turn
        finally:
            self.end(turn)

    async def take(self, person: str) -> Turn:
        """Wait for a turn. Raise TooManyRequests when too many requests of the user wait already, or this one waits too
        long."""
        turn, one = Turn(person), self._people.setdefault(person, _Person())
        one.asked_at = time.monotonic()
        if not one.waiting and self._may_begin(person, one):
            self._begin(one, turn)
            return turn
        most = MAX_JOBS_WAITING if person.startswith(JOBS) else self._max_waiting
        if len(one.waiting) >= most:
            raise _too_many(f"{most} of your requests wait already")
        place = (turn, asyncio.get_running_loop().create_future())
        one.waiting.append(place)
        self._look_again_soon()
        try:
            async with asyncio.timeout(self._max_wait_seconds):
                await place[1]
        except BaseException as error:
            if place in one.waiting:
                one.waiting.remove(place)
            self.end(turn)  # it may have been given at the same moment
            if isinstance(error, TimeoutError):
                told = f"this one waited for {self._max_wait_seconds:.0f} s behind others of yours"
                raise _too_many(told) from None
            raise
        return turn

    def end(self, turn: Turn) -> None:
        """End a turn. Idempotent."""
        if turn.is_over:
            return
        turn.is_over = True
        one = self._people.get(turn.person)
        if one is not None and turn in one.under_way:
            one.under_way.discard(turn)
            self._num_under_way -= 1
            self._num_strangers -= turn.person.startswith(STRANGER)
        self._serve()

    def _begin(self, one: _Person, turn: Turn) -> None:
        turn.began_at = time.monotonic()
        one.under_way.add(turn)
        self._num_under_way += 1
        self._num_strangers += turn.person.startswith(STRANGER)

    def _may_begin(self, person: str, one: _Person) -> bool:
        if self._num_under_way >= MAX_TOTAL:
            return False
        if person.startswith(STRANGER) and self._num_strangers >= MAX_STRANGERS:
            return False
        if not self._has_others(person):
            return len(one.under_way) < MAX_ALONE
        if len(one.under_way) >= MAX_SHARED:
            return False
        if person.startswith(JOBS):
            return True
        long_ago = time.monotonic() - LONG_SECONDS
        return all(turn.began_at < long_ago for turn in one.under_way)

    def _has_others(self, person: str) -> bool:
        """Whether another user is active. Removes those who no longer are."""
        before = time.monotonic() - ACTIVE_SECONDS
        for name, one in list(self._people.items()):
            if one.under_way or one.waiting or one.asked_at >= before:
                if name != person:
                    return True
            elif name != person:
                del self._people[name]
        return False

    def _serve(self) -> None:
        """Begin requests that may begin, one of each user, round-robin."""
        for name, one in list(self._people.items()):
            if not one.waiting or not self._may_begin(name, one):
                continue
            turn, place = one.waiting.popleft()
            if not place.done():
                self._begin(one, turn)
                place.set_result(None)
            self._people[name] = self._people.pop(name)  # the others come first next time
        self._look_again_soon()

    def _look_again_soon(self) -> None:
        """Check again later: requests become long and users inactive without an event."""
        if self._timer is None and any(one.waiting for one in self._people.values()):
            self._timer = asyncio.get_running_loop().call_later(LONG_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self._serve()


def _too_many(told: str) -> TooManyRequests:
    return TooManyRequests(
        f"too many requests at a time: {told}; try again in {RETRY_SECONDS} s", retry_after_seconds=RETRY_SECONDS
    )
