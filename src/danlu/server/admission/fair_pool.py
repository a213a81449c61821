"""A few threads for work whose amount users decide: one piece of each user at a time, round-robin."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class FairPool:
    """For one event loop. Pieces are short: a user with many waits behind the first pieces of all others."""

    def __init__(self, num_threads: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(num_threads, thread_name_prefix=name)
        self._num_free = num_threads
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._at_work: set[str] = set()

    async def run(self, person: str, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        await self._begin(person)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: function(*args, **kwargs))
        finally:
            self._end(person)

    async def _begin(self, person: str) -> None:
        if self._num_free and person not in self._at_work:
            self._num_free -= 1
            self._at_work.add(person)
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(person, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # the turn was already given
                self._end(person)
            raise

    def _end(self, person: str) -> None:
        self._num_free += 1
        self._at_work.discard(person)
        for name in list(self._waiting):
            if not self._num_free:
                return
            if name in self._at_work:
                continue
            places = self._waiting.pop(name)
            while places and places[0].done():  # its client has disconnected
                places.popleft()
            if places:
                self._num_free -= 1
                self._at_work.add(name)
                places.popleft().set_result(None)
            if places:
                self._waiting[name] = places  # behind all others
