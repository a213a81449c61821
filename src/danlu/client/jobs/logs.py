"""Read or follow the log lines of a job. Resumes by offset, so that no byte is lost or repeated."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple, Optional, Union

from danlu.client.events import events
from danlu.client.http import Http, Query
from danlu.client.moments import Since, unix_seconds
from danlu.errors import InvalidInput
from danlu.spec.states import is_over
from danlu.wire.jobs import JobOut
from danlu.wire.logs import LogChunk, LogEnd

Ranks = Union[int, Iterable[int]]
_LOOK_AGAIN_SECONDS = 1.0


class LogLine(NamedTuple):
    """One line of one rank. `str()` returns its text, without the line end."""

    rank: int
    attempt: int
    offset: int
    """Offset of its first byte in the rank's log."""

    text: str

    def __str__(self) -> str:
        return self.text


class LogPiece(NamedTuple):
    """Bytes of one rank's log."""

    offset: int
    """Offset of the first byte; larger than requested when that part was removed from a very long log."""

    data: bytes
    is_last: bool
    """Whether the log is complete and has nothing after them."""


class LogQuery(NamedTuple):
    follow: bool = False
    ranks: tuple[int, ...] = ()
    attempt: Optional[int] = None
    tail: Optional[int] = None
    since: Optional[float] = None
    """Unix seconds."""

    grep: Optional[str] = None


def log_query(
    *,
    follow: bool,
    rank: Optional[Ranks],
    attempt: Optional[int],
    tail: Optional[int],
    since: Optional[Since],
    grep: Optional[str],
    now: Optional[float] = None,
) -> LogQuery:
    """Convert arguments of users into a query."""
    ranks = () if rank is None else (rank,) if isinstance(rank, int) else tuple(rank)
    if any(one < 0 for one in ranks):
        raise InvalidInput(f"rank {min(ranks)} is below 0", fields={"rank": str(min(ranks))})
    return LogQuery(follow, ranks, attempt, tail, _unix(since, now), grep)


def read_batches(http: Http, job_id: str, asked: LogQuery) -> Iterator[list[LogLine]]:
    """Yield lines of the requested attempt, by default the newest, in batches as they arrive.

    When following without a fixed attempt, continues with newer attempts until the job has ended.
    """
    attempt = asked.attempt
    while True:
        end = yield from _read_attempt(http, job_id, asked._replace(attempt=attempt))
        if not asked.follow or asked.attempt is not None or end is None or is_over(end.state):
            return
        newer = _next_attempt(http, job_id, after=end.attempt)
        if newer is None:
            return
        attempt, asked = newer, asked._replace(tail=None)


def read_raw(http: Http, job_id: str, *, rank: int, attempt: Optional[int]) -> Iterator[bytes]:
    """Yield the bytes of one rank's log, up to its current end."""
    offset = 0
    while True:
        piece = read_piece(http, job_id, rank=rank, attempt=attempt, offset=offset)
        if not piece.data:
            return
        yield piece.data
        offset = piece.offset + len(piece.data)


def read_piece(
    http: Http, job_id: str, *, rank: int, attempt: Optional[int], offset: int, limit: Optional[int] = None
) -> LogPiece:
    """Return bytes of one rank's log from an offset: at most `limit`, or what the server sends at once."""
    query: Query = {"attempt": attempt, "offset": offset, "limit": limit}
    response = http.send("GET", f"/jobs/{job_id}/logs/{rank}", query=query)
    begin = int(response.headers.get("X-Danlu-Offset", offset))
    return LogPiece(begin, response.content, response.headers.get("X-Danlu-Complete") == "true")


def _read_attempt(http: Http, job_id: str, asked: LogQuery) -> Generator[list[LogLine], None, Optional[LogEnd]]:
    lines = _Lines()

    def query() -> Query:
        is_first = not lines.next_offsets
        return {
            "follow": asked.follow,
            "rank": asked.ranks,
            "attempt": lines.attempt if lines.attempt is not None else asked.attempt,
            # tail and since select the start; after the first line, offsets say where to continue
            "tail": asked.tail if is_first else None,
            "since": asked.since,
            "grep": asked.grep,
            "from": [f"{rank}:{offset}" for rank, offset in sorted(lines.next_offsets.items())],
        }

    stream = events(http, f"/jobs/{job_id}/logs", query=query, ends_with_connection=not asked.follow)
    for event in stream:
        if event is None:
            continue
        if event.event == "log":
            yield lines.take(LogChunk.model_validate_json(event.data))
        elif event.event == "end":
            stream.close()
            yield lines.rest()
            return LogEnd.model_validate_json(event.data)
    yield lines.rest()
    return None


class _OpenLine(NamedTuple):
    """A line whose end has not arrived. Its pieces are joined only once, because a line may have hundreds of MiB."""

    rank: int
    attempt: int
    offset: int
    pieces: list[str]

    def whole(self) -> LogLine:
        return LogLine(self.rank, self.attempt, self.offset, "".join(self.pieces))


class _Lines:
    """Joins chunks into lines for all ranks, and tracks the next offset of each rank."""

    def __init__(self) -> None:
        self.attempt: Optional[int] = None
        self.next_offsets: dict[int, int] = {}
        self._open: dict[int, _OpenLine] = {}

    def take(self, chunk: LogChunk) -> list[LogLine]:
        """Return the lines that this chunk completes."""
        rank, attempt = chunk.rank, chunk.attempt
        known = self.next_offsets.get(rank, 0)
        if chunk.next_offset <= known:
            return []  # received before the connection broke
        self.attempt = attempt
        self.next_offsets[rank] = chunk.next_offset
        begun = self._open.pop(rank, None)
        lines = []
        if begun is not None and chunk.offset != known:
            lines.append(begun.whole())  # part of the log was removed between the two, so they are different lines
            begun = None
        begun = begun or _OpenLine(rank, attempt, chunk.offset, [])
        first, *others = chunk.text.split("\n")
        begun.pieces.append(first)
        for text in others:
            line = begun.whole()
            lines.append(line)
            begun = _OpenLine(rank, attempt, line.offset + _num_bytes(line.text) + 1, [text])
        if any(begun.pieces):
            self._open[rank] = begun
        return lines

    def rest(self) -> list[LogLine]:
        """Return unterminated last lines."""
        return [self._open.pop(rank).whole() for rank in sorted(self._open)]


def _num_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _next_attempt(http: Http, job_id: str, *, after: int) -> Optional[int]:
    """Wait for the next attempt; None when the job has ended without one."""
    while True:
        job = http.get(f"/jobs/{job_id}", JobOut)
        if job.attempt > after:
            return job.attempt
        if is_over(job.state):
            return None
        time.sleep(_LOOK_AGAIN_SECONDS)


def _unix(since: Optional[Since], now: Optional[float]) -> Optional[float]:
    return None if since is None else unix_seconds(since, time.time() if now is None else now)
