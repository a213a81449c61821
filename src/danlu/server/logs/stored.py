"""Streams a stored log to its end, at the client's pace, with no transaction open while the client reads."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial

from danlu.auth import rights
from danlu.server import sse
from danlu.server.logs import service
from danlu.server.logs.pattern import Pattern
from danlu.server.logs.reading import RankLog
from danlu.server.logs.service import LogPlace
from danlu.server.streams.follower import Follower
from danlu.server.streams.hub import Hub
from danlu.wire.logs import LogEnd


async def tell_stored(
    hub: Hub, follower: Follower, place: LogPlace, pattern: Pattern | None
) -> AsyncGenerator[bytes, None]:
    """Events of what is stored now: one piece of each rank, round-robin."""
    look = partial(hub.read, follower, hub.state.database.read, service.status, place.key)
    if (found := await look()) is None:
        return
    project_id = found.project_id
    follower.may_go_on = lambda who: rights.can_see_project(who, project_id)
    offsets = dict(place.offsets)
    while offsets and not follower.is_ended:
        for rank, offset in list(offsets.items()):
            log = RankLog(hub.state.logs, place.key, rank)
            text, event = await hub.read(follower, log.next_event, offset, pattern=pattern)
            if text is None:
                del offsets[rank]
                continue
            offsets[rank] = text.next_offset
            if event:
                yield event
    if (found := await look()) is not None:  # if it was deleted, the next request reports that
        yield sse.event("end", LogEnd(attempt=place.key.attempt, state=found.job_state))
