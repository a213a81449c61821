"""Limits concurrent work that keeps a core or another server busy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from danlu.errors import TooManyRequests


class Turns:
    """Runs a limited number at a time and lets a few more wait briefly; all others are asked to retry later.

    Waiting callers hold a thread of the server, so they are few: unauthenticated clients must not take all threads.
    """

    def __init__(self, num_at_once: int = 2, max_waiting: int = 6, wait_seconds: float = 2.0) -> None:
        self._free = threading.BoundedSemaphore(num_at_once)
        self._lock = threading.Lock()
        self.num_free_places = num_at_once + max_waiting
        """Free places, for running and waiting callers together."""

        self._wait_seconds = wait_seconds

    @contextmanager
    def take(self) -> Iterator[None]:
        with self._lock:
            if self.num_free_places == 0:
                raise self._busy()
            self.num_free_places -= 1
        try:
            if not self._free.acquire(timeout=self._wait_seconds):
                raise self._busy()
            try:
                yield
            finally:
                self._free.release()
        finally:
            with self._lock:
                self.num_free_places += 1

    def _busy(self) -> TooManyRequests:
        seconds = max(1, round(self._wait_seconds))
        return TooManyRequests(
            f"too many sign-ins at the moment; try again in {seconds} seconds", retry_after_seconds=seconds
        )
