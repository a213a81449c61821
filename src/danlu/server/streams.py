"""Streams of server-sent events: one thing until it is over, or what changes among many."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple, Optional, Protocol, TypeVar

from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel
from sqlalchemy.orm import Session

from danlu.auth.identity import UserIdentity
from danlu.errors import NotSignedIn
from danlu.server import sse
from danlu.server.identity import is_still, user_identity
from danlu.server.state import ServerState
from danlu.server.stream_access import Access
from danlu.wire.base import Answer


class Seen(NamedTuple):
    """A thing as it is now."""

    project_id: int
    version: int
    is_over: bool
    show: Callable[[], BaseModel]


Look = Callable[[Session], Optional[Seen]]
"""Finds the thing; None when it is gone. `show` is called in the same session."""


async def changes(
    state: ServerState, who: UserIdentity, look: Look, *, name: str, seconds: float
) -> AsyncIterator[bytes]:
    """Yield an event for each version, looking every `seconds`. Ends with the thing, or with the right to see it."""
    version, spoke_at = -1, time.monotonic()
    access = Access(state, who, lambda session: None if (seen := look(session)) is None else seen.project_id)
    while not state.stopping.is_set() and await access.goes_on():
        found = await run_in_threadpool(_newer, state, look, version)
        if found is None:  # deleted; who asks again hears that it is not there
            return
        version, shown, is_over = found
        if shown is not None:
            yield sse.event(name, shown, event_id=str(version))
            spoke_at = time.monotonic()
            if is_over:
                return
        elif time.monotonic() - spoke_at > sse.KEEP_ALIVE_SECONDS:
            yield sse.KEEP_ALIVE
            spoke_at = time.monotonic()
        await asyncio.sleep(seconds)


def _newer(state: ServerState, look: Look, version: int) -> Optional[tuple[int, Optional[BaseModel], bool]]:
    """What there is to show if it changed since `version`; None when it is gone."""
    with state.database.reading() as session:
        seen = look(session)
        if seen is None:
            return None
        return seen.version, seen.show() if seen.version != version else None, seen.is_over


class Told(Protocol):
    """What one look at many things found to tell."""

    @property
    def event_id(self) -> int: ...

    @property
    def told(self) -> tuple[tuple[str, Answer], ...]:
        """Names of events and what they say."""


AnyTold = TypeVar("AnyTold", bound=Told)


async def changes_among(
    state: ServerState, look: Callable[[Optional[AnyTold]], Optional[AnyTold]], *, follow: bool, seconds: float
) -> AsyncIterator[bytes]:
    """Yield what each look tells; with `follow` again every `seconds`. A look is given the one before it, and is None
    when whoever listens may not any more."""
    found, spoke_at = await run_in_threadpool(look, None), 0.0
    while found is not None and not state.stopping.is_set():
        for name, told in found.told:
            yield sse.event(name, told, event_id=str(found.event_id))
            spoke_at = time.monotonic()
        if not follow:
            return
        if time.monotonic() - spoke_at > sse.KEEP_ALIVE_SECONDS:  # the first one says that the stream is open
            yield sse.KEEP_ALIVE
            spoke_at = time.monotonic()
        await asyncio.sleep(seconds)
        found = await run_in_threadpool(look, found)


def listener(session: Session, state: ServerState, who: UserIdentity) -> Optional[UserIdentity]:
    """Whoever listens, with today's rights; None when they are shut out."""
    if not is_still(session, who, state.now()):
        return None
    try:
        return user_identity(session, who.user_id)
    except NotSignedIn:
        return None
