"""A run that the companion looks after: the companion's notes about it, and how much of it was sent."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Optional

from danlu import journal
from danlu.content.drafts import FOLDER as ARTIFACTS
from danlu.journal import Kind, Layout
from danlu.track.folders import journals_in
from danlu.track.processes import Process, from_header
from danlu.track.reading import open_journals
from danlu.track.sync.orders import Order
from danlu.transfer.api import Api
from danlu.transfer.errors import Refused
from danlu.transfer.journals import announce, send_journal

PIECE_BYTES = 8 << 20


class Attended:
    """Has no open descriptor and no thread, because there may be thousands."""

    def __init__(self, order: Order) -> None:
        """Raise LookupError when the journal cannot be read."""
        found = [one for one in open_journals(order.folder) if one.path == order.journal]
        if not found:
            raise LookupError(f"no journal at {order.journal}")
        self.header = found[0].header
        process = from_header(self.header)
        if process is None:
            raise LookupError(f"{order.journal} does not say whose it is")
        self.process: Process = process
        self.folder = order.folder
        self.artifacts = os.path.join(os.path.dirname(order.folder), ARTIFACTS)
        self.search = order.search
        self.next_use = 0.0
        self.ended_at: Optional[float] = None
        """When its end was detected, by `time.monotonic`."""

        self.is_sent = False
        """Whether the server has everything, or has rejected it for good."""

        self._path = order.journal
        self._scanned = journal.FILE_HEADER_BYTES
        self._is_announced = False
        self._sent_bytes = -1
        self._layouts: dict[tuple[str, ...], int] = {}
        self._unwritten = self._own_head()

    def note(self, field: str, values: Mapping[str, Any]) -> None:
        self._unwritten += journal.encode_set(field, values, time=time.time())
        self._write()

    def note_use(self, values: Mapping[str, float]) -> None:
        if not values:
            return
        names = tuple(values)
        if names not in self._layouts:
            self._layouts[names] = len(self._layouts) + 1
            self._unwritten += journal.encode_layout(Layout(self._layouts[names], "system", names))
        seconds = int(time.time() - float(self.header["created_at"]))
        row = journal.row_struct(len(names)).pack(seconds, time.time(), float("nan"), *values.values())
        self._unwritten += journal.encode_points(self._layouts[names], [row])
        self._write()

    def note_end(self, state: str, reason: str) -> None:
        """Record the end of a process that could not do so itself."""
        self._unwritten += journal.encode_finish(state, time=time.time(), reason=reason)
        self._write()

    @property
    def is_noted(self) -> bool:
        """Whether all notes are in our journal."""
        return not self._unwritten

    def note_rest(self) -> None:
        """Write notes that are left from when the disk was full."""
        if not self.is_noted:
            self._write()

    def has_end(self) -> bool:
        """Scan new data of the journal for a FINISH frame."""
        while True:
            with open(self._path, "rb") as file:
                file.seek(self._scanned)
                data = file.read(PIECE_BYTES)
            found = journal.scan(data, 0)
            if any(frame.kind == Kind.FINISH for frame in found.frames):
                return True
            self._scanned += found.end
            if found.end == 0:
                return False

    def is_new(self) -> bool:
        """Whether there is unsent data."""
        return self._size() != self._sent_bytes

    def send(self, api: Api) -> str:
        """Send new data. Return the reason of a permanent rejection; raise ServerAway, and Refused for a temporary
        one."""
        size = self._size()
        try:
            if not self._is_announced:
                announce(api, self.header)
            # the first time send all of them: a companion that was killed may have left journals
            for path in self._paths() if self._is_announced else journals_in(self.folder):
                send_journal(api, str(self.header["run"]), path)
            self._is_announced = True
        except Refused as refused:
            if refused.is_temporary or refused.status == 401:  # the user may sign in again
                raise
            return f"{refused.status} {refused.message}"
        self._sent_bytes = size
        return ""

    def say(self, line: str) -> None:
        # a full disk must not end the sync of the run
        with suppress(OSError), open(os.path.join(self.folder, "companion.log"), "a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}\n")

    def _size(self) -> int:
        return sum(os.path.getsize(path) for path in self._paths())

    def _paths(self) -> list[str]:
        """The process's journal, and ours if it could be created so far."""
        return [self._path, *([self._own] if os.path.exists(self._own) else [])]

    def _own_head(self) -> bytes:
        """The start of our own journal: only the process writes to its journal."""
        journal_id = journal.new_journal_id()
        self._own = os.path.join(self.folder, f"{journal_id}.journal")
        header = {**self.header, "writer": "companion", "created_at": time.time()}
        return journal.file_header(journal_id) + journal.encode_run(header)

    def _write(self) -> None:
        """Continue after partial writes on a full disk, so that frames stay intact."""
        try:
            descriptor = os.open(self._own, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError:
            return  # the next note, or `note_rest`, tries again
        try:
            self._unwritten = self._unwritten[os.write(descriptor, self._unwritten) :]
        except OSError:
            return
        finally:
            os.close(descriptor)
