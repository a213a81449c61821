"""Rows of a log as on a terminal: line feeds, minus the rows by which progress displays move the cursor up."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator

import re2

from danlu.store.logs.segments import SEGMENT_BYTES

PIECE_BYTES = 256 << 10
READ_BYTES = 4 * PIECE_BYTES
MOST_KEPT = 4096
"""Full segments whose counts are kept in memory: 32 GiB of logs, about 1 MB."""

_UP_PATTERN = rb"\x1b\[([0-9]{0,4})[AF]"
_UP = re.compile(_UP_PATTERN)
_HAS_UP = re2.compile(_UP_PATTERN)
"""RE2 skips colour sequences three times as fast, but is twenty times slower per match: it only checks for one."""

Segment = tuple[str, int, int, int]
"""Job, attempt, rank, start."""


def num_rows(data: bytes) -> int:
    """How many rows the cursor moves down. Negative when it moves up more."""
    rows = data.count(b"\n")
    if b"\x1b[" in data and _HAS_UP.search(data):
        rows -= sum(int(count or b"1") for count in _UP.findall(data))
    return rows


class LogRows:
    """Counts rows per piece of a log. A full segment never changes and is counted once."""

    def __init__(self, read: Callable[[str, int, int, int, int], bytes]) -> None:
        """`read`: job, attempt, rank, offset, limit -> stored bytes, at most to the end of a segment."""
        self._read = read
        self._kept: OrderedDict[Segment, tuple[int, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def is_counted(self, key: Segment) -> bool:
        """Whether the rows of a segment are cached."""
        with self._lock:
            return key in self._kept

    def of_segment(self, key: Segment) -> tuple[int, ...]:
        """Rows of each stored piece of the segment; empty if it was removed."""
        with self._lock:
            if (found := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return found
        counts, size = [], 0
        for piece in self._pieces(key):
            counts.append(num_rows(piece))
            size += len(piece)
        if size == SEGMENT_BYTES:
            with self._lock:
                self._kept[key] = tuple(counts)
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
        return tuple(counts)

    def _pieces(self, segment: Segment) -> Iterator[bytes]:
        job_id, attempt, rank, start = segment
        for offset in range(start, start + SEGMENT_BYTES, READ_BYTES):
            data = self._read(job_id, attempt, rank, offset, READ_BYTES)
            for at in range(0, len(data), PIECE_BYTES):
                yield data[at : at + PIECE_BYTES]
            if len(data) < READ_BYTES:
                return
