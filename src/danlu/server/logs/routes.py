"""Logs over HTTP: raw bytes by offset, and lines as they come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import datetime, timezone
from functools import partial
from typing import Annotated, Optional

from fastapi import APIRouter, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse

from danlu.errors import NotFound
from danlu.server import sse
from danlu.server.identity import CurrentUser
from danlu.server.logs import service
from danlu.server.logs.service import LogCursor, LogPlace, LogQuery, Pattern
from danlu.server.openapi import BYTES, EVENTS
from danlu.server.state import ServerState, State
from danlu.server.stream_access import Access
from danlu.store.logs.index import READ_BYTES
from danlu.store.logs.segments import SEGMENT_BYTES
from danlu.store.queries import jobs
from danlu.wire.logs import LogEnd

router = APIRouter(prefix="/jobs", tags=["logs"])
FOLLOW_SECONDS = 0.15
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
    place = service.locate(state, who, job, LogQuery(attempt=attempt, ranks=(rank,), starts=(f"{rank}:{offset}",)))
    found = state.database.read(service.status, place)
    first = state.logs.next_stored(place.job_id, place.attempt, rank, offset)
    data = state.logs.read(place.job_id, place.attempt, rank, first, limit)
    done = found is not None and (found[2].get(rank, False) or service.is_over_for(found[0], found[1], place))
    at_end = first + len(data) >= state.logs.length(place.job_id, place.attempt, rank)
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
    attempt: Annotated[Optional[int], Query(ge=1, le=2**31)] = None,
    rank: Annotated[Optional[list[Rank]], Query(max_length=4096)] = None,
    start: Annotated[Optional[list[Start]], Query(alias="from", max_length=4096)] = None,
    follow: bool = False,
    tail: Annotated[Optional[int], Query(ge=0, le=10_000_000)] = None,
    since: Annotated[Optional[float], Query(ge=0, le=253_402_300_799, allow_inf_nan=False)] = None,
    grep: Annotated[Optional[str], Query(max_length=1000)] = None,
) -> StreamingResponse:
    """Server-sent events: `log` for each piece, `end` when nothing more will come."""
    query = LogQuery(
        attempt=attempt,
        ranks=rank or (),
        starts=start or (),
        tail=tail,
        since=None if since is None else datetime.fromtimestamp(since, timezone.utc),
    )
    place = service.locate(state, who, job, query)
    access = Access(state, who, partial(jobs.project_of, job_id=place.job_id))
    return sse.stream(_lines(state, place, access, follow=follow, pattern=service.compile_pattern(grep)))


async def _lines(
    state: ServerState, place: LogPlace, access: Access, *, follow: bool, pattern: Optional[Pattern]
) -> AsyncIterator[bytes]:
    spoke_at = time.monotonic()
    while not (follow and state.stopping.is_set()) and await access.goes_on():
        before = place
        try:
            events, place, end = await run_in_threadpool(_look, state, place, follow=follow, pattern=pattern)
        except NotFound:  # deleted; the answer has begun, and who asks again hears that it is not there
            return
        for event in events:
            yield event
            spoke_at = time.monotonic()
        if end is not None:
            yield sse.event("end", end)
            return
        if not events and not _has_moved(before, place):  # lines that do not match were read, and there may be more
            await asyncio.sleep(FOLLOW_SECONDS)
        if time.monotonic() - spoke_at > sse.KEEP_ALIVE_SECONDS:
            yield sse.KEEP_ALIVE
            spoke_at = time.monotonic()


def _look(
    state: ServerState, place: LogPlace, *, follow: bool, pattern: Optional[Pattern]
) -> tuple[list[bytes], LogPlace, Optional[LogEnd]]:
    """One round over all ranks: what is new, where the reader stands then, and whether that was all."""
    found = state.database.read(service.status, place)
    if found is None:
        raise NotFound(f"{place.job_id} was deleted")
    job_state, newest, ended = found
    if place.attempt == 0 and newest > 0:  # the first attempt began since
        place = LogPlace(place.job_id, 1, place.cursors)
        return [], place, None
    over = service.is_over_for(job_state, newest, place)
    events: list[bytes] = []
    cursors: list[LogCursor] = []
    for cursor in place.cursors:
        complete = over or ended.get(cursor.rank, False) or not follow
        chunk, after = service.read_chunk(state, place, cursor, is_complete=complete, pattern=pattern)
        cursors.append(after)
        if chunk is not None and chunk.text:
            events.append(sse.event("log", chunk))
    before, place = place, LogPlace(place.job_id, place.attempt, tuple(cursors))
    moved = _has_moved(before, place)
    all_read = not moved and (over or not follow)
    return events, place, LogEnd(attempt=place.attempt, state=job_state) if all_read else None


def _has_moved(before: LogPlace, after: LogPlace) -> bool:
    return any(new.offset != old.offset for new, old in zip(after.cursors, before.cursors, strict=True))
