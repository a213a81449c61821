"""Where lines of a log are: how many rows each piece has, when bytes were written, and which lines match."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from danlu.server.logs.pattern import Pattern
from danlu.server.logs.reading import LogKey
from danlu.store.logs.index import Logs
from danlu.store.logs.rows import PIECE_BYTES, num_rows
from danlu.store.logs.segments import SEGMENT_BYTES
from danlu.wire.logs import LogLines, LogMatch, LogMatches

MOST_INDEXED = 64 << 20
"""Bytes that one request counts; the next request continues there. Counts are cached."""

MOST_TOLD = 4 << 30
"""Bytes that one response covers: 16,384 counts."""

MOST_SEARCHED = 32 << 20
MOST_TEXT = 2000
MOST_MARKS = 2000
READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RankLines:
    """The lines of one rank's log. Methods run in threads, since their cost grows with the log."""

    logs: Logs
    key: LogKey
    rank: int
    length: int

    def count(self, offset: int) -> LogLines:
        """Rows per piece, from the segment of `offset` on."""
        start = offset - offset % SEGMENT_BYTES
        rows: list[int] = []
        at, num_read = start, 0
        while at < self.length and at - start < MOST_TOLD and num_read < MOST_INDEXED:
            segment = (*self.key, self.rank, at)
            num_read += 0 if self.logs.rows.is_counted(segment) else SEGMENT_BYTES
            counted = self.logs.rows.of_segment(segment)
            wanted = -(-min(SEGMENT_BYTES, self.length - at) // PIECE_BYTES)
            rows += [*counted, *[0] * (wanted - len(counted))][:wanted]  # a part that was removed has no rows
            at += SEGMENT_BYTES
        end = min(at, self.length)
        marks = self.logs.marks(*self.key, rank=self.rank, begin=start, end=end, most=MOST_MARKS)
        return LogLines(
            piece_bytes=PIECE_BYTES,
            offset=start,
            next_offset=None if end >= self.length else end,
            rows=rows,
            marks=[(place, moment.timestamp()) for place, moment in marks],
        )

    def find(self, pattern: Pattern | None, *, offset: int, line: int, limit: int) -> LogMatches:
        """Lines that match, from the line at `offset` on, whose number is `line`."""
        found: list[LogMatch] = []
        first = offset
        while offset < self.length and offset - first < MOST_SEARCHED and len(found) < limit:
            data = self._whole_lines(offset)
            if not data:
                after = self.logs.next_stored(*self.key, self.rank, offset)
                if after <= offset:
                    break
                offset = after  # a part of the log was removed
                continue
            if pattern is not None and pattern.may_match(data.decode("utf-8", errors="replace")):
                found += _matches(data, pattern, offset=offset, line=line)
            offset, line = offset + len(data), line + num_rows(data)
        following = None if offset >= self.length else offset
        return LogMatches(items=found, offset=offset, line=line, total=self.length, next_offset=following)

    def _whole_lines(self, offset: int) -> bytes:
        """Bytes from an offset to the end of a line; a line that is longer than a read is cut."""
        data = self.logs.read(*self.key, self.rank, offset, READ_BYTES)
        if data and (offset + len(data)) % SEGMENT_BYTES == 0 and not data.endswith(b"\n"):
            data += self.logs.read(*self.key, self.rank, offset + len(data), READ_BYTES)
        cut = data.rfind(b"\n") + 1
        return data[:cut] if cut and len(data) >= READ_BYTES else data


def _matches(data: bytes, pattern: Pattern, *, offset: int, line: int) -> Iterator[LogMatch]:
    for raw in _lines(data):
        text = raw.rstrip(b"\r\n").decode("utf-8", errors="replace")
        if pattern.in_line.search(text):
            yield LogMatch(offset=offset, line=line, text=text[-MOST_TEXT:])
        offset, line = offset + len(raw), line + num_rows(raw)


def _lines(data: bytes) -> Iterator[bytes]:
    """Split at line feeds only: a carriage return rewrites a line and does not end it."""
    begin = 0
    while (end := data.find(b"\n", begin)) >= 0:
        yield data[begin : end + 1]
        begin = end + 1
    if begin < len(data):
        yield data[begin:]
