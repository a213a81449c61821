"""Journals as they arrived, byte for byte. How much of each counts is in the database: `danlu.store.metrics.journals`.

<root>/<run id>/<journal>.journal
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from danlu.errors import StorageFull
from danlu.store.files import NO_ROOM, write_at


class JournalFiles:
    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, run_id: str, journal: str, at: int, data: bytes) -> None:
        """Write at an offset; they are on the disk when this returns."""
        path = self._path(run_id, journal)
        try:
            is_new = not path.exists()
            path.parent.mkdir(parents=True, exist_ok=True)
            write_at(path, at, data)
            _sync(path)
            if is_new:  # the name as well
                _sync(path.parent)
                _sync(self._root)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise StorageFull(
                    f"no room for the metrics of {run_id}; make room on the disk of {self._root}"
                ) from error
            raise

    def read(self, run_id: str, journal: str, start: int, end: int) -> bytes:
        """The bytes between two offsets, or what there is of them."""
        try:
            with self._path(run_id, journal).open("rb") as file:
                file.seek(start)
                return file.read(end - start)
        except FileNotFoundError:  # purged meanwhile
            return b""

    def size(self, run_id: str, journal: str) -> int:
        try:
            return self._path(run_id, journal).stat().st_size
        except FileNotFoundError:
            return 0

    def delete_run(self, run_id: str) -> None:
        """Quiet when there is nothing."""
        shutil.rmtree(self._root / run_id, ignore_errors=True)

    def _path(self, run_id: str, journal: str) -> Path:
        return self._root / run_id / f"{journal}.journal"


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
