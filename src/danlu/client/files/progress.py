"""Progress of uploads and downloads."""

from __future__ import annotations

import threading
from typing import Callable, NamedTuple, Optional


class Progress(NamedTuple):
    """Progress of an upload or download of one or more files."""

    file: str
    """The file that progressed last."""

    done_bytes: int
    total_bytes: int
    num_done: int
    num_files: int


class Meter:
    """Adds up the progress of several threads, and calls the listener from one thread at a time."""

    def __init__(self, listener: Optional[Callable[[Progress], None]], *, total_bytes: int, num_files: int) -> None:
        self._listener = listener
        self._total_bytes = total_bytes
        self._num_files = num_files
        self._done_bytes = 0
        self._num_done = 0
        self._lock = threading.Lock()

    def moved(self, file: str, num_bytes: int) -> None:
        """Add bytes; a negative number subtracts bytes that have to be sent again."""
        with self._lock:
            self._done_bytes += num_bytes
            self._tell(file)

    def told(self, file: str, num_bytes: int, _has_travelled: bool) -> None:
        """Like `moved`, with the signature that `transfer` calls."""
        self.moved(file, num_bytes)

    def finished(self, file: str) -> None:
        with self._lock:
            self._num_done += 1
            self._tell(file)

    def _tell(self, file: str) -> None:
        if self._listener is not None:
            self._listener(Progress(file, self._done_bytes, self._total_bytes, self._num_done, self._num_files))
