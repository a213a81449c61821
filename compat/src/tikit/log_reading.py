"""Lines of a task's pods sorted by time, forwards or backwards, in pages with positions to continue at.

A Danlu log is bytes without times. About once a second the server records the length of each log: the time of a line is
the first record at which the log was longer than the start of the line.
"""

from __future__ import annotations

import base64
import binascii
import heapq
import json
import sys
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, Optional

from danlu.client import Job
from tikit.session import refuse

WINDOW_BYTES = 64 << 10
LARGEST_WINDOW_BYTES = 4 << 20
"""Longer lines are split."""


SEGMENT_BYTES = 8 << 20
"""Very long logs lose pieces of this size from their middle."""

MARKS_AT_ONCE = 1000


class Line(NamedTuple):
    time: float
    rank: int
    offset: int
    end: int
    """Offset after its line feed."""

    text: str


class Wanted(NamedTuple):
    """Selects lines."""

    start: Optional[float] = None
    """Seconds since 1970; earlier lines are omitted."""

    end: Optional[float] = None
    words: Sequence[str] = ()
    """A line must contain all of them."""

    is_backwards: bool = False

    def takes(self, line: Line) -> bool:
        is_late = self.start is None or line.time >= self.start
        is_early = self.end is None or line.time <= self.end
        return is_late and is_early and all(word in line.text for word in self.words)


class Page(NamedTuple):
    lines: list[Line]
    positions: Optional[dict[int, int]]
    """Rank -> where to continue; None at the end."""


def read_page(job: Job, attempt: int, positions: Mapping[int, int], wanted: Wanted, limit: int) -> Page:
    """Return the next lines from these positions on (backwards: up to them)."""
    found: list[Line] = []
    reached = dict(positions)
    for line in islice(all_lines(job, attempt, positions, wanted), limit + 1):
        if len(found) == limit:
            return Page(found, reached)
        found.append(line)
        reached[line.rank] = line.offset if wanted.is_backwards else line.end
    return Page(found, None)


def all_lines(job: Job, attempt: int, positions: Mapping[int, int], wanted: Wanted) -> Iterator[Line]:
    """Yield all selected lines from these positions on, of all ranks, sorted by time."""
    read = _backwards if wanted.is_backwards else _forwards
    by_rank = [read(RankLog(job, attempt, rank), position) for rank, position in sorted(positions.items())]
    sign = -1 if wanted.is_backwards else 1
    for line in heapq.merge(*by_rank, key=lambda line: (sign * line.time, line.rank)):
        if wanted.is_backwards and wanted.start is not None and line.time < wanted.start:
            return
        if not wanted.is_backwards and wanted.end is not None and line.time > wanted.end:
            return
        if wanted.takes(line):
            yield line


class RankLog:
    """The log of one rank of one attempt."""

    def __init__(self, job: Job, attempt: int, rank: int) -> None:
        self._job, self._attempt, self.rank = job, attempt, rank
        self._lengths: list[int] = []
        self._times: list[float] = []
        self._known: Optional[range] = None

    def read(self, offset: int, limit: int) -> tuple[int, bytes, bool]:
        """Return bytes from an offset on, their actual offset, and whether they are the last."""
        piece = self._job.log_piece(self.rank, offset, limit=limit, attempt=self._attempt)
        data = piece.data
        while data and len(data) < limit and not piece.is_last:  # an answer ends at the end of a log segment
            more = self._job.log_piece(
                self.rank, piece.offset + len(data), limit=limit - len(data), attempt=self._attempt
            )
            if not more.data or more.offset != piece.offset + len(data):
                break
            piece, data = piece._replace(is_last=more.is_last), data + more.data
        return piece.offset, data, piece.is_last

    def lines(self, first: int, data: bytes) -> list[Line]:
        """Return the lines in `data`, which begins at offset `first`."""
        found, offset = [], first
        for raw in _split(data):
            text = raw.rstrip(b"\r\n").decode("utf-8", errors="replace")
            found.append(Line(self._time(offset), self.rank, offset, offset + len(raw), text))
            offset += len(raw)
        return found

    def _time(self, offset: int) -> float:
        if self._known is None or offset not in self._known:
            told = self._job.log_times(self.rank, offset, attempt=self._attempt)
            self._lengths, self._times = list(told.offset), list(told.time)
            is_whole = len(self._lengths) < MARKS_AT_ONCE
            self._known = range(offset, sys.maxsize if is_whole else self._lengths[-1])
        place = bisect_right(self._lengths, offset)
        if place < len(self._times):
            return self._times[place]
        return self._times[-1] if self._times else self._last_time()

    def _last_time(self) -> float:
        """Return the time of output after the last record: the end of the task, or its start while it runs."""
        attempt = next(one for one in self._job.details.attempts if one.number == self._attempt)
        task = next((one for one in attempt.tasks if one.rank == self.rank), None)
        at = task and (task.ended_at or task.started_at)
        return (at or self._job.details.created_at).timestamp()


def _split(data: bytes) -> list[bytes]:
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


def _forwards(log: RankLog, offset: int) -> Iterator[Line]:
    size = WINDOW_BYTES
    while True:
        first, data, is_last = log.read(offset, size)
        if not data:
            return
        cut = data.rfind(b"\n") + 1
        is_open = not cut and len(data) == size and size < LARGEST_WINDOW_BYTES
        if is_open:
            size *= 2
            continue
        if cut and not (is_last and cut < len(data)):
            data = data[:cut]
        elif not cut and not is_last and len(data) < size:
            return  # the line is still being written
        yield from log.lines(first, data)
        offset, size = first + len(data), WINDOW_BYTES


def _backwards(log: RankLog, end: int) -> Iterator[Line]:
    size = WINDOW_BYTES
    while end > 0:
        begin = max(0, end - size)
        first, data, _ = log.read(begin, end - begin)
        if first >= end or not data:  # removed from the middle of a very long log: continue before the gap
            end = begin - begin % SEGMENT_BYTES
            continue
        cut = 0 if first == 0 or first > begin else data.find(b"\n") + 1
        is_open = first == begin > 0 and (not cut or cut == len(data)) and size < LARGEST_WINDOW_BYTES
        if is_open:
            size *= 2
            continue
        yield from reversed(log.lines(first + cut, data[cut:]))
        end, size = first + cut if cut else begin, WINDOW_BYTES


def to_context(attempt: int, positions: Mapping[int, int]) -> str:
    """Encode positions as text for `Context`."""
    return base64.urlsafe_b64encode(json.dumps([attempt, sorted(positions.items())]).encode()).decode()


def from_context(context: str) -> tuple[int, dict[int, int]]:
    try:
        attempt, positions = json.loads(base64.urlsafe_b64decode(context.encode()))
        return int(attempt), {int(rank): int(offset) for rank, offset in positions}
    except (ValueError, TypeError, binascii.Error) as error:
        raise refuse(f"context: expected the Context of an earlier answer, got {context[:60]!r}") from error
