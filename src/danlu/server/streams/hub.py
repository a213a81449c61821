"""All open streams of this server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request

from danlu.auth.identity import UserIdentity
from danlu.errors import DanluError
from danlu.server import sse
from danlu.server.admission.fair_pool import FairPool
from danlu.server.admission.slots import Slots
from danlu.server.state import ServerState
from danlu.server.streams.audience import identities_now
from danlu.server.streams.follower import Follower
from danlu.server.streams.poller import Board

T = TypeVar("T")
AnyBoard = TypeVar("AnyBoard", bound=Board[Any, Any])

NUM_LOOKING, NUM_READING = 3, 2
"""Threads for shared looks, and for followers that are behind. Requests have others."""

TICK_SECONDS = 0.25
RIGHTS_SECONDS = 1.0


class Hub:
    """Keeps all followers. While there are any, one task checks their rights and sends keep-alives."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._boards: dict[type[Board[Any, Any]], Board[Any, Any]] = {}
        self._followers: set[Follower] = set()
        self._looking = ThreadPoolExecutor(NUM_LOOKING, thread_name_prefix="streams")
        self._reading = FairPool(NUM_READING, "stream-readers")
        self.streams = Slots("streams", state.settings.max_streams_per_person)
        self.exports = Slots("exports", state.settings.max_exports_per_person)
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_news_on_its_way = False

    def board(self, kind: type[AnyBoard]) -> AnyBoard:
        found = self._boards.get(kind)
        if found is None:
            found = self._boards[kind] = kind(self.state, self._look)
        return cast("AnyBoard", found)

    async def read(self, follower: Follower, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call in a thread for a follower that is behind: one call of each user at a time, round-robin."""
        return await self._reading.run(follower.person, function, *args, **kwargs)

    @contextmanager
    def joined(self, follower: Follower) -> Iterator[None]:
        if not self._followers:
            self._loop = asyncio.get_running_loop()
            self.state.database.on_commit.add(self._committed)
        self._followers.add(follower)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look_after())
        try:
            yield
        finally:
            self._followers.discard(follower)
            if not self._followers:
                self.state.database.on_commit.discard(self._committed)

    async def _look(self, function: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._looking, function, *args)

    def _committed(self) -> None:
        """Called after each commit, in any thread."""
        if self._is_news_on_its_way or self._loop is None:
            return
        self._is_news_on_its_way = True
        with suppress(RuntimeError):  # the server has stopped
            self._loop.call_soon_threadsafe(self._tell_boards)

    def _tell_boards(self) -> None:
        self._is_news_on_its_way = False
        for board in self._boards.values():
            board.poller.news()

    async def _look_after(self) -> None:
        rights_at = time.monotonic()
        while self._followers:
            await asyncio.sleep(TICK_SECONDS)
            if self.state.stopping.is_set():
                for follower in self._followers:
                    follower.end()
            if time.monotonic() - rights_at >= RIGHTS_SECONDS:
                rights_at = time.monotonic()
                await self._look_at_rights()
                self._keep_alive()

    async def _look_at_rights(self) -> None:
        """End streams of users who lost access: disabled, or without their key, session or role."""
        people = {(follower.who.user_id, follower.who.origin.via) for follower in self._followers}
        try:
            found = await self._look(self.state.database.read, identities_now, people, self.state.now())
        except DanluError:  # the database does not answer: boards log it, and nothing is sent meanwhile
            return
        for follower in list(self._followers):
            person = (follower.who.user_id, follower.who.origin.via)
            if person not in found:  # joined meanwhile
                continue
            now = found[person]
            if now is None or not follower.may_go_on(now):
                follower.end()
            elif _rights(now) != _rights(follower.who):
                follower.who = replace(now, origin=follower.who.origin)
                follower.wake()

    def _keep_alive(self) -> None:
        before = time.monotonic() - sse.KEEP_ALIVE_SECONDS
        for follower in self._followers:
            if follower.spoke_at < before:
                follower.say(sse.KEEP_ALIVE)


def _rights(who: UserIdentity) -> tuple[object, ...]:
    return who.is_admin, who.roles, who.archived


async def _hub(request: Request) -> Hub:
    return cast("Hub", request.app.state.streams)


Streams = Annotated[Hub, Depends(_hub)]
