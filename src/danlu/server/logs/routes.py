"""Logs over HTTP: raw bytes by offset, and lines as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime, timezone
from typing import Annotated, Optional

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from danlu.server.identity import CurrentReader
from danlu.server.logs.operations import lines_of, locate, read_raw, read_times
from danlu.server.logs.pattern import compile_pattern
from danlu.server.logs.service import LogQuery
from danlu.server.logs.stored import tell_stored
from danlu.server.logs.tails import FollowedLogs
from danlu.server.openapi import BYTES, EVENTS
from danlu.server.paging import Limit
from danlu.server.state import State
from danlu.server.streams.follower import Follower
from danlu.server.streams.hub import Hub, Streams
from danlu.server.streams.response import Stream
from danlu.store.logs.index import READ_BYTES
from danlu.store.logs.segments import SEGMENT_BYTES
from danlu.wire.logs import LogLines, LogMatches, LogTimes

router = APIRouter(prefix="/jobs", tags=["logs"])
Rank = Annotated[int, Query(ge=0, le=1_000_000)]
Start = Annotated[str, Query(max_length=40)]
Offset = Annotated[int, Query(ge=0, le=2**60)]


@router.get("/{job}/logs/{rank}", response_class=Response, responses=BYTES)
def read(
    job: str,
    rank: int,
    who: CurrentReader,
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
    piece = read_raw(state, who, job, query, limit=limit)
    headers = {
        "X-Danlu-Offset": str(piece.offset),
        "X-Danlu-Next-Offset": str(piece.offset + len(piece.data)),
        "X-Danlu-Complete": "true" if piece.is_last else "false",
    }
    return Response(piece.data, media_type="application/octet-stream", headers=headers)


@router.get("/{job}/logs/{rank}/times")
def times(
    job: str,
    rank: int,
    who: CurrentReader,
    state: State,
    attempt: Annotated[Optional[int], Query(ge=1, le=2**31)] = None,
    offset: Offset = 0,
    limit: Limit = 1000,
) -> LogTimes:
    """When the log behind an offset was written: its lengths and when it had them."""
    query = LogQuery(attempt=attempt, ranks=(rank,), starts=(f"{rank}:{offset}",))
    return read_times(state, who, job, query, limit=limit)


@router.get("/{job}/logs/{rank}/lines")
def count_lines(
    job: str,
    rank: int,
    who: CurrentReader,
    state: State,
    attempt: Annotated[Optional[int], Query(ge=1, le=2**31)] = None,
    offset: Offset = 0,
) -> LogLines:
    """How many rows each piece of the log has, and when it was written; long logs in several answers."""
    return lines_of(state, who, job, LogQuery(attempt=attempt, ranks=(rank,))).count(offset)


@router.get("/{job}/logs/{rank}/matches")
def find_lines(
    job: str,
    rank: int,
    who: CurrentReader,
    state: State,
    attempt: Annotated[Optional[int], Query(ge=1, le=2**31)] = None,
    grep: Annotated[Optional[str], Query(max_length=1000)] = None,
    offset: Offset = 0,
    line: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=2000)] = 500,
) -> LogMatches:
    """Lines that match a regular expression (RE2), with their numbers; long logs in several answers."""
    pattern = compile_pattern(grep)
    log = lines_of(state, who, job, LogQuery(attempt=attempt, ranks=(rank,)))
    return log.find(pattern, offset=offset, line=line, limit=limit)


@router.get("/{job}/logs", response_class=StreamingResponse, responses=EVENTS)
def lines(
    job: str,
    who: CurrentReader,
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
    place, pattern = locate(state, who, job, query), compile_pattern(grep)

    def tell(hub: Hub, follower: Follower) -> AsyncGenerator[bytes, None]:
        if follow:
            return hub.board(FollowedLogs).tell(hub, follower, place, pattern)
        return tell_stored(hub, follower, place, pattern)

    return Stream(streams, who, tell)
