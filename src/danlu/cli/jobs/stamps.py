"""When lines of a log were written: `danlu logs --timestamps`."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from danlu.client import Job, LogLine

_LOOK_AGAIN_SECONDS = 1.0


class Stamps:
    """Samples of how long each rank's log was, asked for as lines need them."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._known: dict[tuple[int, int], tuple[list[int], list[float]]] = {}
        self._asked_at: dict[tuple[int, int], float] = {}

    def stamped(self, batches: Iterable[list[LogLine]]) -> Iterator[list[LogLine]]:
        for batch in batches:
            yield [line._replace(text=f"{self._text(line)}  {line.text}") for line in batch]

    def _text(self, line: LogLine) -> str:
        at = self._when(line)
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))

    def _when(self, line: LogLine) -> float:
        """When the log first had the end of the line; now, for a line that came a moment ago."""
        key, end = (line.attempt, line.rank), line.offset + len(line.text.encode())
        offsets, times = self._known.setdefault(key, ([], []))
        while not offsets or offsets[-1] < end:
            if time.monotonic() - self._asked_at.get(key, -1e9) < _LOOK_AGAIN_SECONDS:
                break
            found = self._job.log_times(line.rank, offsets[-1] if offsets else 0, attempt=line.attempt)
            offsets += found.offset
            times += found.time
            if not found.offset:
                self._asked_at[key] = time.monotonic()
        place = bisect_left(offsets, end)
        return times[place] if place < len(times) else time.time()
