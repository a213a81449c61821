"""How far an upload or download is."""

from __future__ import annotations

import threading
from typing import Callable, NamedTuple, Optional


class Progress(NamedTuple):
    """How far an upload or download of one or many files is."""

    file: str
    """The file that moved last."""

    done_bytes: int
    total_bytes: int
    num_done: int
    num_files: int


class Meter:
    """Adds up what several threads move, and tells one listener at a time."""

    def __init__(self, listener: Optional[Callable[[Progress], None]], *, total_bytes: int, num_files: int) -> None:
        self._listener = listener
        self._total_bytes = total_bytes
        self._num_files = num_files
        self._done_bytes = 0
        self._num_done = 0
        self._lock = threading.Lock()

    def moved(self, file: str, num_bytes: int) -> None:
        """A negative number takes back what has to be moved again."""
        with self._lock:
            self._done_bytes += num_bytes
            self._tell(file)

    def told(self, file: str, num_bytes: int, _has_travelled: bool) -> None:
        """As `moved`, in the form that `transfer` calls."""
        self.moved(file, num_bytes)

    def finished(self, file: str) -> None:
        with self._lock:
            self._num_done += 1
            self._tell(file)

    def _tell(self, file: str) -> None:
        if self._listener is not None:
            self._listener(Progress(file, self._done_bytes, self._total_bytes, self._num_done, self._num_files))
