"""Parse server-sent events from bytes that arrive in pieces of any size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Optional

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    event: str
    data: str
    id: Optional[str] = None


class SseParser:
    """Incremental parser: takes bytes in pieces of any size, and returns complete events."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0
        self._is_first = True
        self._event = ""
        self._data: list[str] = []
        self._id: Optional[str] = None

    def feed(self, piece: bytes) -> list[SseEvent]:
        self._rest += piece
        if self._is_first:
            if len(self._rest) < len(_BOM) and _BOM.startswith(bytes(self._rest)):
                return []  # may still be a byte order mark
            if self._rest.startswith(_BOM):
                del self._rest[: len(_BOM)]
            self._is_first = False
        events = []
        for line in self._lines():
            event = self._take(line)
            if event is not None:
                events.append(event)
        return events

    def _lines(self) -> Iterator[str]:
        begin = 0
        # never search the same bytes of a long line twice
        for found in _LINE_END.finditer(self._rest, self._searched):
            if found.group() == b"\r" and found.end() == len(self._rest):
                break  # its \n may be in the next piece
            yield self._rest[begin : found.start()].decode("utf-8", "replace")
            begin = found.end()
        del self._rest[:begin]
        self._searched = max(0, len(self._rest) - 1)

    def _take(self, line: str) -> Optional[SseEvent]:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            self._event = value
        elif field == "data":
            self._data.append(value)
        elif field == "id" and "\0" not in value:
            self._id = value
        return None  # comments and unknown fields are ignored

    def _dispatch(self) -> Optional[SseEvent]:
        event, data = self._event, self._data
        self._event, self._data = "", []
        if not data:
            return None
        return SseEvent(event or "message", "\n".join(data), self._id)


def parse_sse(pieces: Iterable[bytes]) -> Iterator[SseEvent]:
    """Yield the events of a whole stream. An event without its terminating empty line is dropped."""
    parser = SseParser()
    for piece in pieces:
        yield from parser.feed(piece)
