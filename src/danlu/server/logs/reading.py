"""Pieces of a log, cut at line ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from danlu.server import sse
from danlu.server.logs.pattern import Pattern
from danlu.spec.units import show_size
from danlu.store.logs.index import Logs
from danlu.store.logs.segments import SEGMENT_BYTES
from danlu.wire.logs import LogChunk

CHUNK_BYTES = 256 << 10
HOLD_SECONDS = 0.6
"""How long an unfinished line waits for its end."""


class LogKey(NamedTuple):
    job_id: str
    attempt: int
    """0: there is none yet."""


class LogText(NamedTuple):
    """A piece of one rank's log."""

    rank: int
    offset: int
    next_offset: int
    text: str


@dataclass(frozen=True, slots=True)
class RankLog:
    """The log of one rank. Methods run in threads, since their cost grows with the log."""

    logs: Logs
    key: LogKey
    rank: int

    def read_text(self, offset: int, *, end: int | None = None, may_wait: bool = False) -> LogText | None:
        """Read from an offset, up to `end` at most; None when there is nothing, or only an unfinished line that may
        wait."""
        limit = CHUNK_BYTES if end is None else min(CHUNK_BYTES, end - offset)
        if limit <= 0:
            return None
        data = self._read(offset, limit)
        if not data:
            return self._over_a_cut(offset)
        if len(data) < limit and (offset + len(data)) % SEGMENT_BYTES == 0:  # lines continue in the next segment
            data += self._read(offset + len(data), limit - len(data))
        whole = whole_lines(data, can_wait=may_wait and len(data) < CHUNK_BYTES)
        if not whole:
            return None
        return LogText(self.rank, offset, offset + len(whole), whole.decode("utf-8", errors="replace"))

    def next_event(
        self, offset: int, *, end: int | None = None, known: LogText | None = None, pattern: Pattern | None = None
    ) -> tuple[LogText | None, bytes]:
        """The text at an offset, read unless it is `known`, and its event, empty when no line matches."""
        text = known or self.read_text(offset, end=end)
        if text is None:
            return None, b""
        shown = text if pattern is None else text._replace(text=pattern.lines_of(text.text))
        return text, event_of(self.key, shown) if shown.text else b""

    def line_begin(self, end: int) -> int:
        """Where the unfinished line at `end` begins; `end` when the line before is whole or very long."""
        first = max(0, end - CHUNK_BYTES)
        data = b"".join(self.logs.read_until(*self.key, self.rank, first, end))
        if first + len(data) != end:  # removed meanwhile
            return end
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if cut:
            return first + cut
        return first if first == 0 else first + len(_whole_characters(data))

    def _read(self, offset: int, limit: int) -> bytes:
        return self.logs.read(*self.key, self.rank, offset, limit)

    def _over_a_cut(self, offset: int) -> LogText | None:
        """A note that a part of the log was removed, up to where it continues; None at the log's end."""
        after = self.logs.next_stored(*self.key, self.rank, offset)
        if after == offset:
            return None
        kept = show_size(self.logs.max_bytes)
        text = f"[danlu: {show_size(after - offset)} of this log were removed here; {kept} are kept of each rank]\n"
        return LogText(self.rank, offset, after, text)


def event_of(key: LogKey, text: LogText) -> bytes:
    return sse.event("log", LogChunk(attempt=key.attempt, **text._asdict()))


def whole_lines(data: bytes, *, can_wait: bool) -> bytes:
    """Cut after the last line end (progress bars end theirs with a return); without one, never inside a character."""
    cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    if cut:
        return data[:cut] if can_wait or len(data) == CHUNK_BYTES else data
    if can_wait:
        return b""
    return _whole_characters(data) if len(data) == CHUNK_BYTES else data


def _whole_characters(data: bytes) -> bytes:
    """Drop an incomplete character at the end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if back < needed else data
        if byte < 0x80:
            break
    return data
