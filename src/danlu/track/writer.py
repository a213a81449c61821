"""Appends to a journal. Training only adds to a list; a thread brings it to the file every 20 ms.

What is in the file survives the end of the process, however it ends: `kill -9` loses what was logged in the last
moment only, and nothing after `flush`. What a full disk does not take stays in memory until it does.
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
"""Between something being added and its being written. A busy interpreter may add the 5 ms of a thread switch."""

LATE_SECONDS = 0.035
"""When the thread has not written by then, `log` writes itself: other code holds the interpreter."""

RETRY_SECONDS = 0.5
"""Between tries of a disk that took nothing, when nobody adds anything."""

MAX_UNWRITTEN_BYTES = 64 << 20
"""What is kept in memory while the disk takes nothing. More than that is dropped, with a warning."""

MAX_FRAME_BYTES = journal.MAX_PAYLOAD_BYTES - 64


class Rows(NamedTuple):
    """A layout that has been declared, as the hot path needs it."""

    number: int
    row_bytes: int


Item = Union[tuple[Rows, bytes], tuple[None, bytes]]
"""A row of a layout, or a whole frame."""


class Writer:
    """One journal of this process. Adding is safe from several threads."""

    def __init__(self, path: str, journal_id: str, first: bytes) -> None:
        """Make the file. Raise OSError when it cannot be made; its first frame waits for room like any other."""
        self.path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.pending: list[Item] = []
        """What the next flush writes. Only ever appended to from outside."""

        self.is_scheduled = False
        self.scheduled_at = 0.0
        """By `time.time`; what is pending is at most this old."""

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
        """Call it when the first frame is in the file: nobody else can do anything with the file before."""
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
        """Write what was added. Returns when it is in the file, or cannot be for want of room."""
        with self._lock:
            self._write()
        if self._unwritten:
            self._wake.set()  # the thread tries again

    def flush_late(self, now: float) -> None:
        """Write in the place of the thread, unless it is at it: then the disk is slow, not the thread."""
        self.scheduled_at = now
        if self._lock.acquire(blocking=False):
            try:
                self._write()
            finally:
                self._lock.release()

    def close(self) -> None:
        """Write what is left and close the file, without room as soon as there is some. Later additions go nowhere."""
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
        """Try a last time after `close`, and tell what is lost."""
        with self._lock:
            self._write()
            if self._unwritten:
                warn_once("lost", f"{len(self._unwritten)} bytes could not be written to {self.path}")
                self._unwritten = b""
            self._close_if_written()
        self._tell_if_begun()
        self._wake.set()

    def abandon(self) -> None:
        """Forget the file, in a forked child: it belongs to the parent, and so does what was not yet written."""
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
            self.is_scheduled = False  # before the list is taken: what comes after this schedules again
            try:
                with self._lock:
                    self._write()
                    self._close_if_written()
                self._tell_if_begun()
            except Exception as error:  # the thread must live on
                warn_once("writer", f"{self.path}: what was logged could not be written: {error!r:.300}")

    def _write(self) -> None:
        count = len(self.pending)
        if self._fd < 0 or (not count and not self._unwritten):
            return
        if len(self._unwritten) > MAX_UNWRITTEN_BYTES:
            warn_once("dropped", f"{self.path} takes no more bytes; what is logged from now on is dropped")
            del self.pending[:count]
        else:
            data = encode(self.pending[:count])
            del self.pending[:count]  # appends by other threads go behind these
            self._unwritten = self._unwritten + data if self._unwritten else data
        try:
            while self._unwritten:
                # what a full disk took in part is continued, never repeated: the frames stay whole
                written = os.write(self._fd, self._unwritten)
                self._unwritten = self._unwritten[written:]
                self._num_left_of_head -= written
        except OSError as error:
            warn_once(
                "disk", f"{self.path} cannot be written: {error.strerror}; keeping it in memory, training goes on"
            )

    def _close_if_written(self) -> None:
        """Close the file once nothing will be added and nothing is left."""
        if self._is_open or self._unwritten or self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        if self in _late:
            _late.remove(self)

    def _tell_if_begun(self) -> None:
        if self._when_begun is None or self._num_left_of_head > 0:
            return
        with self._lock:  # of the two threads that may be here one has it
            action, self._when_begun = self._when_begun, None
        if action is not None:
            action()


_late: list[Writer] = []
"""Closed by their runs, and waiting for room."""


def give_up() -> None:
    """At the end of the process nobody is left to wait for room."""
    for writer in list(_late):
        writer.give_up()


def after_fork() -> None:
    """In a child: what was not written is the parent's."""
    _late.clear()


def encode(items: list[Item]) -> bytes:
    """Frames for what was added, in order; rows of one layout that follow one another share a frame."""
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
