"""Signatures that were used already."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from danlu.errors import TooManyRequests

MAX_MARKS = 200_000


class Seen:
    """Remembers each signature for as long as it is valid. Only valid ones are stored, so that others
    cannot fill it."""

    def __init__(self, now: Callable[[], float], *, keep_seconds: float, max_marks: int = MAX_MARKS) -> None:
        self._now, self._keep_seconds, self._max_marks = now, keep_seconds, max_marks
        self._used_at: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, mark: str) -> bool:
        """Record a use; return whether it is the first."""
        now = self._now()
        with self._lock:
            while self._used_at and next(iter(self._used_at.values())) < now - self._keep_seconds:
                self._used_at.popitem(last=False)
            if mark in self._used_at:
                return False
            if len(self._used_at) >= self._max_marks:
                raise TooManyRequests("too many signed requests at a time; try again in a minute")
            self._used_at[mark] = now
        return True
