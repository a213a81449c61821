"""Whose turn it is: requests of many people share the server's threads, and nobody's wait behind all of another's.

Python runs one thread at a time. Somebody with 40 requests under way would slow everybody else down forty times. So
whoever is alone may have many requests under way, and while others are active each person has one, and one more for
each of theirs that takes long.
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
"""Requests under way: of somebody who is alone, of one of several, of all together. There are 40 threads."""

MAX_STRANGERS = 8
"""Requests under way of all who are not known: however many addresses they have, the rest is for people."""

STRANGER = "address "
"""How the names of those begin who are known by their address alone."""

JOBS = "jobs of "
"""How the names of those begin who are all jobs of one person: they may wait, and are many."""

LONG_SECONDS = 0.05
"""A request that takes longer than this lets another of the same person begin."""

ACTIVE_SECONDS = 1.0
"""Somebody who asked something in this time is active."""

MAX_WAITING, MAX_JOBS_WAITING = 200, 4000
MAX_WAIT_SECONDS = 30.0
RETRY_SECONDS = 2


@dataclass(eq=False)
class Turn:
    """Held by a request until its answer begins."""

    person: str
    began_at: float = 0.0
    is_over: bool = False


@dataclass
class _Person:
    under_way: set[Turn] = field(default_factory=set)
    waiting: deque[tuple[Turn, asyncio.Future[None]]] = field(default_factory=deque)
    asked_at: float = 0.0


class Turns:
    """For one event loop; not to be used from threads."""

    def __init__(self, *, max_waiting: int = MAX_WAITING, max_wait_seconds: float = MAX_WAIT_SECONDS) -> None:
        self._people: dict[str, _Person] = {}
        self._num_under_way = 0
        self._num_strangers = 0
        self._max_waiting, self._max_wait_seconds = max_waiting, max_wait_seconds
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def turn(self, person: str) -> AsyncIterator[Turn]:
        """Wait for a turn. It may be ended early: `end`."""
        turn = await self.take(person)
        try:
            yield turn
        finally:
            self.end(turn)

    async def take(self, person: str) -> Turn:
        """Wait for a turn. Raise TooManyRequests when too many of the same person wait already, or for too long."""
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
            self.end(turn)  # it may have been given in the same moment
            if isinstance(error, TimeoutError):
                told = f"this one waited for {self._max_wait_seconds:.0f} s behind others of yours"
                raise _too_many(told) from None
            raise
        return turn

    def end(self, turn: Turn) -> None:
        """Quiet when it is over."""
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
        """Whether anybody else is active. Forgets those who are not any more."""
        before = time.monotonic() - ACTIVE_SECONDS
        for name, one in list(self._people.items()):
            if one.under_way or one.waiting or one.asked_at >= before:
                if name != person:
                    return True
            elif name != person:
                del self._people[name]
        return False

    def _serve(self) -> None:
        """Begin what may begin, one of each person in turn."""
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
        """Time passes as well: a request becomes a long one, and others are not active any more."""
        if self._timer is None and any(one.waiting for one in self._people.values()):
            self._timer = asyncio.get_running_loop().call_later(LONG_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self._serve()


def _too_many(told: str) -> TooManyRequests:
    return TooManyRequests(
        f"too many requests at a time: {told}; try again in {RETRY_SECONDS} s", retry_after_seconds=RETRY_SECONDS
    )
