"""Journal files, byte for byte as received. The database has their valid lengths: `danlu.store.metrics.journals`.

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
        """Write at an offset; durable on return."""
        path = self._path(run_id, journal)
        try:
            is_new = not path.exists()
            path.parent.mkdir(parents=True, exist_ok=True)
            write_at(path, at, data)
            _sync(path)
            if is_new:  # the directory entry too
                _sync(path.parent)
                _sync(self._root)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise StorageFull(
                    f"the disk is full: cannot store the metrics of {run_id}; free space on the disk of {self._root}"
                ) from error
            raise

    def read(self, run_id: str, journal: str, start: int, end: int) -> bytes:
        """Bytes between two offsets, as far as they exist."""
        try:
            with self._path(run_id, journal).open("rb") as file:
                file.seek(start)
                return file.read(end - start)
        except FileNotFoundError:  # deleted in the meantime
            return b""

    def size(self, run_id: str, journal: str) -> int:
        try:
            return self._path(run_id, journal).stat().st_size
        except FileNotFoundError:
            return 0

    def delete_run(self, run_id: str) -> None:
        """Delete all journals of a run. Idempotent."""
        shutil.rmtree(self._root / run_id, ignore_errors=True)

    def _path(self, run_id: str, journal: str) -> Path:
        return self._root / run_id / f"{journal}.journal"


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
