"""Where lines of a log are: how many rows each piece has, when bytes were written, and which lines match."""

from __future__ import annotations

from collections.abc import Iterator

from danlu.auth.identity import UserIdentity
from danlu.server.logs.pattern import Pattern
from danlu.server.logs.service import LogKey, LogQuery, resolve
from danlu.server.state import ServerState
from danlu.store.logs.rows import PIECE_BYTES, num_rows
from danlu.store.logs.segments import SEGMENT_BYTES
from danlu.wire.logs import LogLines, LogMatch, LogMatches

MOST_INDEXED = 64 << 20
"""Bytes that one request counts; the next one goes on behind them."""

MOST_SEARCHED = 32 << 20
MOST_TEXT = 2000
MOST_MARKS = 2000
READ_BYTES = 1 << 20


def count_lines(
    state: ServerState, who: UserIdentity, job: str, rank: int, *, attempt: int | None, offset: int
) -> LogLines:
    """Rows per piece, from the segment of `offset` on."""
    key, length = _place(state, who, job, rank, attempt)
    start = offset - offset % SEGMENT_BYTES
    rows: list[int] = []
    at = start
    while at < length and at - start < MOST_INDEXED:
        counted = state.logs.rows.of_segment(*key, rank, at)
        wanted = -(-min(SEGMENT_BYTES, length - at) // PIECE_BYTES)
        rows += [*counted, *[0] * (wanted - len(counted))][:wanted]  # a part that was removed has no rows
        at += SEGMENT_BYTES
    end = min(at, length)
    marks = state.logs.marks(*key, rank, start, end, most=MOST_MARKS)
    return LogLines(
        piece_bytes=PIECE_BYTES,
        offset=start,
        next_offset=None if end >= length else end,
        rows=rows,
        marks=[(place, moment.timestamp()) for place, moment in marks],
    )


def find_lines(
    state: ServerState,
    who: UserIdentity,
    job: str,
    rank: int,
    *,
    attempt: int | None,
    pattern: Pattern | None,
    after: tuple[int, int],
    limit: int,
) -> LogMatches:
    """Lines that match. `after`: offset and number of the line to begin with, as the answer before has them."""
    key, length = _place(state, who, job, rank, attempt)
    offset, line = after
    if pattern is None:
        return LogMatches(items=[], offset=length, line=line, total=length, next_offset=None)
    first = offset
    found: list[LogMatch] = []
    while offset < length and offset - first < MOST_SEARCHED and len(found) < limit:
        data = _whole_lines(state, key, rank, offset)
        if not data:  # a part that was removed
            after_cut = state.logs.next_stored(*key, rank, offset)
            if after_cut <= offset:
                break
            offset = after_cut
            continue
        text = data.decode("utf-8", errors="replace")
        if pattern.may_match(text):
            found += _matches(data, pattern, offset, line)
        offset, line = offset + len(data), line + num_rows(data)
    is_over = offset >= length
    return LogMatches(items=found, offset=offset, line=line, total=length, next_offset=None if is_over else offset)


def _place(state: ServerState, who: UserIdentity, job: str, rank: int, attempt: int | None) -> tuple[LogKey, int]:
    place = state.database.read(resolve, state, who, job, LogQuery(attempt=attempt, ranks=(rank,)))
    return place.key, state.logs.length(*place.key, rank)


def _whole_lines(state: ServerState, key: LogKey, rank: int, offset: int) -> bytes:
    """Bytes from an offset to the end of a line; a line that is longer than a read is cut."""
    data = state.logs.read(*key, rank, offset, READ_BYTES)
    if data and (offset + len(data)) % SEGMENT_BYTES == 0 and not data.endswith(b"\n"):
        data += state.logs.read(*key, rank, offset + len(data), READ_BYTES)
    cut = data.rfind(b"\n") + 1
    return data[:cut] if cut and len(data) >= READ_BYTES else data


def _matches(data: bytes, pattern: Pattern, offset: int, line: int) -> Iterator[LogMatch]:
    for raw in _lines(data):
        text = raw.rstrip(b"\r\n").decode("utf-8", errors="replace")
        if pattern.in_line.search(text):
            yield LogMatch(offset=offset, line=line, text=text[-MOST_TEXT:])
        offset, line = offset + len(raw), line + num_rows(raw)


def _lines(data: bytes) -> Iterator[bytes]:
    """Cut behind line feeds only: a return begins a line anew and ends none."""
    begin = 0
    while (end := data.find(b"\n", begin)) >= 0:
        yield data[begin : end + 1]
        begin = end + 1
    if begin < len(data):
        yield data[begin:]
