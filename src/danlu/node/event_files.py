"""Copy the metrics of a task's runs into event files for TensorBoard. Standard library only.

    python -m danlu.node.event_files RUNS_FOLDER EVENTS_FOLDER

Runs until the task ends.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO, Optional

from danlu.journal.event_files import record, scalar_event, version_event
from danlu.journal.format import FILE_HEADER_BYTES, BadJournal, Kind, Layout
from danlu.journal.reader import decode_layout, layout_number, rows, scan

LOOK_SECONDS = 2.0
JOURNAL = ".journal"
PIECE_BYTES = 8 << 20


class Mirror:
    """One journal, and an event file next to it with the same points."""

    def __init__(self, path: str, folder: str) -> None:
        self._path, self._folder = path, folder
        self._at = FILE_HEADER_BYTES
        self._layouts: dict[int, Layout] = {}
        self._file: Optional[str] = None
        self._is_damaged = False

    def follow(self) -> None:
        """Copy new points. Ignores a journal that cannot be read: the uploader reports it."""
        if self._is_damaged:
            return
        try:
            with open(self._path, "rb") as journal:
                while self._copy_piece(journal):
                    pass
        except (OSError, BadJournal):
            self._is_damaged = True

    def _copy_piece(self, journal: BinaryIO) -> bool:
        """Return False when there is nothing more to copy now."""
        journal.seek(self._at)
        found = scan(journal.read(PIECE_BYTES), 0)
        self._is_damaged = found.is_damaged
        events: list[bytes] = []
        for frame in found.frames:
            if frame.kind == Kind.LAYOUT:
                layout = decode_layout(frame)
                self._layouts[layout.number] = layout
            elif frame.kind == Kind.POINTS:
                layout = self._layouts[layout_number(frame)]
                for step, at, _epoch, *values in rows(frame, len(layout.names)):
                    for name, value in zip(layout.names, values):
                        tag = f"{layout.type}/{name}" if layout.type else name
                        events.append(record(scalar_event(at, step, tag=tag, value=value)))
        if events:
            self._write(b"".join(events))
        self._at += found.end
        return bool(found.frames) and not self._is_damaged

    def _write(self, data: bytes) -> None:
        if self._file is None:
            os.makedirs(self._folder, exist_ok=True)
            self._file = os.path.join(self._folder, f"events.out.tfevents.{int(time.time())}.danlu")
            data = record(version_event(time.time())) + data
        with open(self._file, "ab") as file:
            file.write(data)


class Mirrors:
    def __init__(self, runs: str, events: str) -> None:
        self._runs, self._events = runs, events
        self._known: dict[str, Mirror] = {}

    def follow(self) -> None:
        for path in _journals(self._runs):
            if path not in self._known:
                name = os.path.relpath(path, self._runs)[: -len(JOURNAL)]
                self._known[path] = Mirror(path, os.path.join(self._events, name))
            self._known[path].follow()


def _journals(folder: str) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(JOURNAL):
                yield os.path.join(parent, name)


def main() -> None:
    mirrors = Mirrors(sys.argv[1], sys.argv[2])
    while True:
        mirrors.follow()
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main()
