"""Reading logs: offsets are found in the database, then bytes are read with no transaction open."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from danlu.auth.identity import UserIdentity
from danlu.server.logs.lines import RankLines
from danlu.server.logs.service import LogPlace, LogQuery, resolve, status
from danlu.server.state import ServerState
from danlu.store.logs.index import READ_BYTES, TAIL_BYTES
from danlu.wire.logs import LogTimes


def locate(state: ServerState, who: UserIdentity, job: str, query: LogQuery) -> LogPlace:
    """Resolve a query to offsets. For last lines, at most 256 MiB of all ranks together are searched."""
    place = state.database.read(resolve, state, who, job, query)
    most_bytes = max(READ_BYTES, TAIL_BYTES // max(1, len(place.offsets)))
    found = {
        rank: offset if rank in place.is_given else _first(state, place, rank, query=query, most_bytes=most_bytes)
        for rank, offset in place.offsets.items()
    }
    return replace(place, offsets=found)


class RawPiece(NamedTuple):
    """Bytes of a log as they were written."""

    offset: int
    data: bytes
    is_last: bool
    """Whether they end the log, and it is complete."""


def read_raw(state: ServerState, who: UserIdentity, job: str, query: LogQuery, *, limit: int) -> RawPiece:
    """Bytes of one rank from the given offset, or from the first stored byte after it if a part was removed."""
    place = state.database.read(resolve, state, who, job, query)
    ((rank, offset),) = place.offsets.items()
    found = state.database.read(status, place.key)
    first = state.logs.next_stored(*place.key, rank, offset)
    data = state.logs.read(*place.key, rank, first, limit)
    is_over = found is not None and (found.is_over or rank in found.ended)
    return RawPiece(first, data, is_over and first + len(data) >= state.logs.length(*place.key, rank))


def read_times(state: ServerState, who: UserIdentity, job: str, query: LogQuery, *, limit: int) -> LogTimes:
    """Time marks of one rank after the given offset."""
    place = state.database.read(resolve, state, who, job, query)
    ((rank, offset),) = place.offsets.items()
    marks = state.logs.marks_after(*place.key, rank=rank, offset=offset, limit=limit)
    return LogTimes(
        attempt=place.key.attempt,
        rank=rank,
        offset=[at for at, _ in marks],
        time=[moment.timestamp() for _, moment in marks],
    )


def lines_of(state: ServerState, who: UserIdentity, job: str, query: LogQuery) -> RankLines:
    """The lines of the one rank that is requested."""
    place = state.database.read(resolve, state, who, job, query)
    ((rank, _),) = place.offsets.items()
    return RankLines(state.logs, place.key, rank, state.logs.length(*place.key, rank))


def _first(state: ServerState, place: LogPlace, rank: int, *, query: LogQuery, most_bytes: int) -> int:
    first = 0 if query.since is None else state.logs.offset_at(*place.key, rank, query.since)
    if query.tail is not None:
        end = state.logs.length(*place.key, rank)
        first = max(first, state.logs.tail_offset(*place.key, rank, query.tail, end, most_bytes=most_bytes))
    return first
