"""Appends to a journal. Training only appends to a list; a thread writes it to the file every 20 ms.

What is in the file survives any end of the process: `kill -9` loses only the last moment, and nothing from before
`flush`. What does not fit on a full disk stays in memory until it does.
"""

from __future__ import annotations

import os
import threading
import time
from itertools import groupby
from typing import Callable, NamedTuple, Optional, Union

from danlu import journal
from danlu.track.warn import warn_once

PAUSE_SECONDS = 0.02
"""Between adding and writing. A busy interpreter may add the 5 ms of a thread switch."""

LATE_SECONDS = 0.035
"""If the thread has not written by then, `log` writes itself: other code blocks the interpreter."""

RETRY_SECONDS = 0.5
"""Pause between retries on a full disk when nothing is added."""

MAX_UNWRITTEN_BYTES = 64 << 20
"""Maximum kept in memory while the disk is full. More is dropped, with a warning."""

MAX_FRAME_BYTES = journal.MAX_PAYLOAD_BYTES - 64


class Rows(NamedTuple):
    """A declared layout, in the form that the hot path needs."""

    number: int
    row_bytes: int


Item = Union[tuple[Rows, bytes], tuple[None, bytes]]
"""A row of a layout, or a whole frame."""


class Writer:
    """The writer of one journal. Adding is thread-safe."""

    def __init__(self, path: str, journal_id: str, first: bytes) -> None:
        """Create the file. Raise OSError when that fails. On a full disk, the first frame waits like any other."""
        self.path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.pending: list[Item] = []
        """Written by the next flush. Other code may only append to it."""

        self.is_scheduled = False
        self.scheduled_at = 0.0
        """As of `time.time`; pending items are at most this old."""

        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._is_open = True
        self._when_begun: Optional[Callable[[], None]] = None
        self._unwritten = journal.file_header(journal_id) + first
        self._num_left_of_head = len(self._unwritten)
        self._write()
        self._thread = threading.Thread(target=self._write_for_ever, name="danlu-journal", daemon=True)
        self._thread.start()

    def call_when_begun(self, action: Callable[[], None]) -> None:
        """Call `action` once the first frame is in the file: before that, no other process can use the file."""
        self._when_begun = action
        self._tell_if_begun()

    def add(self, frame: bytes) -> None:
        """Add a whole frame. Returns at once."""
        self.pending.append((None, frame))
        if not self.is_scheduled:
            self.schedule(time.time())

    def schedule(self, now: float) -> None:
        self.scheduled_at = now
        self.is_scheduled = True
        self._wake.set()

    def flush(self) -> None:
        """Write pending items. Returns when they are in the file, or cannot be written because the disk is full."""
        with self._lock:
            self._write()
        if self._unwritten:
            self._wake.set()  # the thread tries again

    def flush_late(self, now: float) -> None:
        """Write instead of the thread. Does nothing if the thread is writing: then the disk is slow, not the thread."""
        self.scheduled_at = now
        if self._lock.acquire(blocking=False):
            try:
                self._write()
            finally:
                self._lock.release()

    def close(self) -> None:
        """Write what is left and close the file, on a full disk as soon as possible. Later additions are dropped."""
        with self._lock:
            if not self._is_open:
                return
            self._write()
            self._is_open = False
            if self._unwritten:
                _late.append(self)
            self._close_if_written()
        self._wake.set()

    def give_up(self) -> None:
        """Try a last time after `close`, and warn about what is lost."""
        with self._lock:
            self._write()
            if self._unwritten:
                warn_once("lost", f"{len(self._unwritten)} bytes could not be written to {self.path}")
                self._unwritten = b""
            self._close_if_written()
        self._tell_if_begun()
        self._wake.set()

    def abandon(self) -> None:
        """In a forked child: drop the file and pending items, which belong to the parent."""
        self._is_open = False
        self._fd = -1
        self.pending = []
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        return self._is_open

    def _write_for_ever(self) -> None:
        while self._fd >= 0:
            self._wake.wait(RETRY_SECONDS if self._unwritten else None)
            if self._fd < 0:
                return
            time.sleep(PAUSE_SECONDS)
            self._wake.clear()
            self.is_scheduled = False  # before taking the list: later additions schedule another write
            try:
                with self._lock:
                    self._write()
                    self._close_if_written()
                self._tell_if_begun()
            except Exception as error:  # the thread must not end
                warn_once("writer", f"{self.path}: what was logged could not be written: {error!r:.300}")

    def _write(self) -> None:
        count = len(self.pending)
        if self._fd < 0 or (not count and not self._unwritten):
            return
        if len(self._unwritten) > MAX_UNWRITTEN_BYTES:
            warn_once("dropped", f"{self.path} cannot be written; what is logged from now on is dropped")
            del self.pending[:count]
        else:
            data = encode(self.pending[:count])
            del self.pending[:count]  # other threads only append after these
            self._unwritten = self._unwritten + data if self._unwritten else data
        try:
            while self._unwritten:
                # continue after a partial write on a full disk, so that frames stay intact
                written = os.write(self._fd, self._unwritten)
                self._unwritten = self._unwritten[written:]
                self._num_left_of_head -= written
        except OSError as error:
            warn_once(
                "disk", f"{self.path} cannot be written: {error.strerror}; keeping it in memory, training goes on"
            )

    def _close_if_written(self) -> None:
        """Close the file once it is complete and no more additions are possible."""
        if self._is_open or self._unwritten or self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        if self in _late:
            _late.remove(self)

    def _tell_if_begun(self) -> None:
        if self._when_begun is None or self._num_left_of_head > 0:
            return
        with self._lock:  # of two threads that get here, only one sees the action
            action, self._when_begun = self._when_begun, None
        if action is not None:
            action()


_late: list[Writer] = []
"""Closed by their runs, and waiting for disk space."""


def give_up() -> None:
    """Called at the end of the process: try a last time to write everything."""
    for writer in list(_late):
        writer.give_up()


def after_fork() -> None:
    """In a forked child: unwritten data belongs to the parent."""
    _late.clear()


def encode(items: list[Item]) -> bytes:
    """Encode items in order; consecutive rows of one layout share a frame."""
    parts: list[bytes] = []
    for layout, group in groupby(items, key=_layout_of):
        data = [item[1] for item in group]
        if layout is None:
            parts.extend(data)
            continue
        most = MAX_FRAME_BYTES // layout.row_bytes
        parts.extend(
            journal.encode_points(layout.number, data[first : first + most]) for first in range(0, len(data), most)
        )
    return b"".join(parts)


def _layout_of(item: Item) -> Optional[Rows]:
    return item[0]
