"""Limits how many things of one kind a user has open: streams, exports, shells, uploads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from danlu.errors import TooManyRequests

RETRY_SECONDS = 10


class Slots:
    """The same limit for each user. Thread-safe."""

    def __init__(self, what: str, most: int, *, retry_seconds: int = RETRY_SECONDS) -> None:
        """`what`: plural noun for messages."""
        self._what, self._most, self._retry_seconds = what, most, retry_seconds
        self._open: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, person: str) -> Iterator[None]:
        """Raise TooManyRequests when the limit is reached."""
        self.take(person)
        try:
            yield
        finally:
            self.give_back(person)

    def take(self, person: str) -> None:
        with self._lock:
            if self._open[person] >= self._most:
                told = f"you have {self._most} {self._what} open, which is the maximum; close one first"
                raise TooManyRequests(told, retry_after_seconds=self._retry_seconds)
            self._open[person] += 1

    def give_back(self, person: str) -> None:
        with self._lock:
            self._open[person] -= 1
            if not self._open[person]:
                del self._open[person]
