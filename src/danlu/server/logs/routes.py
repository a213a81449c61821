"""Logs over HTTP: raw bytes by offset, and lines as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime, timezone
from functools import partial
from typing import Annotated, Optional

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from danlu.auth import rights
from danlu.server import sse
from danlu.server.identity import CurrentUser
from danlu.server.logs import service
from danlu.server.logs.pattern import Pattern, compile_pattern
from danlu.server.logs.reading import next_event
from danlu.server.logs.service import LogPlace, LogQuery
from danlu.server.logs.tails import FollowedLogs
from danlu.server.openapi import BYTES, EVENTS
from danlu.server.state import State
from danlu.server.streams.follower import Follower
from danlu.server.streams.hub import Hub, Streams
from danlu.server.streams.response import Stream
from danlu.store.logs.index import READ_BYTES
from danlu.store.logs.segments import SEGMENT_BYTES
from danlu.wire.logs import LogEnd

router = APIRouter(prefix="/jobs", tags=["logs"])
Rank = Annotated[int, Query(ge=0, le=1_000_000)]
Start = Annotated[str, Query(max_length=40)]
Offset = Annotated[int, Query(ge=0, le=2**60)]


@router.get("/{job}/logs/{rank}", response_class=Response, responses=BYTES)
def read(
    job: str,
    rank: int,
    who: CurrentUser,
    state: State,
    attempt: Annotated[Optional[int], Query(ge=1, le=2**31)] = None,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=SEGMENT_BYTES)] = READ_BYTES,
) -> Response:
    """Raw bytes from an offset.

    `X-Danlu-Offset` is where they begin: later than asked for when that part was cut out of a very long log.
    `X-Danlu-Next-Offset` is where to go on; `X-Danlu-Complete` says if that is the end.
    """
    query = LogQuery(attempt=attempt, ranks=(rank,), starts=(f"{rank}:{offset}",))
    key = service.locate(state, who, job, query).key
    found = state.database.read(service.status, key)
    first = state.logs.next_stored(*key, rank, offset)
    data = state.logs.read(*key, rank, first, limit)
    done = found is not None and (found.is_over or rank in found.ended)
    at_end = first + len(data) >= state.logs.length(*key, rank)
    headers = {
        "X-Danlu-Offset": str(first),
        "X-Danlu-Next-Offset": str(first + len(data)),
        "X-Danlu-Complete": "true" if done and at_end else "false",
    }
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.get("/{job}/logs", response_class=StreamingResponse, responses=EVENTS)
def lines(
    job: str,
    who: CurrentUser,
    state: State,
    streams: Streams,
    attempt: Annotated[Optional[int], Query(ge=1, le=2**31)] = None,
    rank: Annotated[Optional[list[Rank]], Query(max_length=4096)] = None,
    start: Annotated[Optional[list[Start]], Query(alias="from", max_length=4096)] = None,
    follow: bool = False,
    tail: Annotated[Optional[int], Query(ge=0, le=10_000_000)] = None,
    since: Annotated[Optional[float], Query(ge=0, le=253_402_300_799, allow_inf_nan=False)] = None,
    grep: Annotated[Optional[str], Query(max_length=1000)] = None,
) -> Stream:
    """Server-sent events: `log` for each piece, `end` when nothing more will come."""
    query = LogQuery(
        attempt=attempt,
        ranks=rank or (),
        starts=start or (),
        tail=tail,
        since=None if since is None else datetime.fromtimestamp(since, timezone.utc),
    )
    place, pattern = service.locate(state, who, job, query), compile_pattern(grep)

    def tell(hub: Hub, follower: Follower) -> AsyncGenerator[bytes, None]:
        if follow:
            return hub.board(FollowedLogs).tell(hub, follower, place, pattern)
        return _to_the_end(hub, follower, place, pattern)

    return Stream(streams, who, tell)


async def _to_the_end(
    hub: Hub, follower: Follower, place: LogPlace, pattern: Optional[Pattern]
) -> AsyncGenerator[bytes, None]:
    """What is stored now, at the reader's pace, a piece of each rank in turn."""
    look = partial(hub.read, follower, hub.state.database.read, service.status, place.key)
    if (found := await look()) is None:
        return
    project_id = found.project_id
    follower.may_go_on = lambda who: rights.can_see_project(who, project_id)
    offsets = dict(place.offsets)
    while offsets and not follower.is_ended:
        for rank, offset in list(offsets.items()):
            text, event = await hub.read(follower, next_event, hub.state.logs, place.key, rank, offset, pattern=pattern)
            if text is None:
                del offsets[rank]
                continue
            offsets[rank] = text.next_offset
            if event:
                yield event
    if (found := await look()) is not None:  # deleted: who asks again hears that it is not there
        yield sse.event("end", LogEnd(attempt=place.key.attempt, state=found.job_state))
