"""Segment files of logs. The database lists the segments and their lengths: `danlu.store.logs.index`.

<root>/<job id>/<attempt>/<rank>/<start>.log      start: offset of the segment's first byte, 16 digits
"""

from __future__ import annotations

import shutil
from pathlib import Path

from danlu.errors import StorageFull
from danlu.store.files import NO_ROOM, write_at

SEGMENT_BYTES = 8 << 20


class LogFiles:
    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, job_id: str, attempt: int, rank: int, *, start: int, at: int, data: bytes) -> None:
        """Write into the segment that starts at `start`, `at` bytes after its start.

        Bytes that a killed server wrote but did not index are overwritten with the same bytes.
        """
        try:
            write_at(self.made_path(job_id, attempt, rank=rank, start=start), at, data)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise StorageFull(
                    f"the disk is full: cannot store the log of {job_id}; free space at {self._root}"
                ) from error
            raise

    def made_path(self, job_id: str, attempt: int, *, rank: int, start: int) -> Path:
        """Where a segment is, or will be; the folder exists."""
        path = self._path(job_id, attempt, rank, start)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def read(self, job_id: str, attempt: int, rank: int, *, start: int, at: int, size: int) -> bytes:
        with self._path(job_id, attempt, rank, start).open("rb") as file:
            file.seek(at)
            return file.read(size)

    def delete_segment(self, job_id: str, attempt: int, rank: int, start: int) -> None:
        self._path(job_id, attempt, rank, start).unlink(missing_ok=True)

    def delete(self, job_id: str, attempt: int | None = None) -> None:
        """Delete the files of a job, or of one attempt. Idempotent."""
        folder = self._root / job_id if attempt is None else self._root / job_id / str(attempt)
        shutil.rmtree(folder, ignore_errors=True)

    def _path(self, job_id: str, attempt: int, rank: int, start: int) -> Path:
        return self._root / job_id / str(attempt) / str(rank) / f"{start:016d}.log"
