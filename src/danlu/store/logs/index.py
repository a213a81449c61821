"""Logs by offset: an SQL index over segment files. Bytes are written before the index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.orm import Session

from danlu.store.logs.rows import LogRows
from danlu.store.logs.segments import SEGMENT_BYTES, LogFiles
from danlu.store.sql.database import Database, num_changed
from danlu.store.sql.tables import LogMarkRow, LogSegmentRow, TaskRow

READ_BYTES = 1 << 20
DEFAULT_MAX_BYTES = 4 << 30
TAIL_BYTES = 256 << 20
"""How far from the end a log is searched for its last lines."""


class Logs:
    """The logs of all tasks."""

    def __init__(self, database: Database, files: LogFiles, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        """`max_bytes`: most that is kept of one rank's log; the middle is removed."""
        self._database = database
        self._files = files
        self.max_bytes = max_bytes
        self.rows = LogRows(self.read)

    def append(self, job_id: str, attempt: int, rank: int, *, offset: int, data: bytes) -> int:
        """Append bytes at `offset`, which must be the stored length; return the new length.

        Idempotent: a repetition by another server or a retry changes nothing.
        """
        while data:
            start = offset - offset % SEGMENT_BYTES
            piece = data[: start + SEGMENT_BYTES - offset]
            self._files.write(job_id, attempt, rank, start=start, at=offset - start, data=piece)
            if not self._record(job_id, attempt, rank, offset=offset, size=len(piece)):
                return self.length(job_id, attempt, rank)
            offset, data = offset + len(piece), data[len(piece) :]
        return offset

    def fill(self, job_id: str, attempt: int, *, rank: int, offset: int, write: Callable[[Path, int], int]) -> int:
        """Like `append`, but the caller writes the bytes, at most to the end of the segment.

        `write` gets the file and the position in it, and returns the number of bytes written.
        """
        start = offset - offset % SEGMENT_BYTES
        size = write(self._files.made_path(job_id, attempt, rank=rank, start=start), offset - start)
        if not size:
            return offset
        is_next = self._record(job_id, attempt, rank, offset=offset, size=size)
        return offset + size if is_next else self.length(job_id, attempt, rank)

    def _record(self, job_id: str, attempt: int, rank: int, *, offset: int, size: int) -> bool:
        """Index bytes that were written; False if another server already has."""
        start = offset - offset % SEGMENT_BYTES
        with self._database.writing() as session:
            if not _record_piece(session, job_id, attempt, rank, start=start, offset=offset, size=size):
                return False
        end = offset + size
        if end > self.max_bytes and end % SEGMENT_BYTES < size:  # a new segment was begun
            self._trim(job_id, attempt, rank, before=end - self.max_bytes)
        return True

    def next_stored(self, job_id: str, attempt: int, rank: int, offset: int) -> int:
        """Return `offset`, or the start of the next stored part if that one was removed."""
        start = offset - offset % SEGMENT_BYTES
        with self._database.reading() as session:
            if session.get(LogSegmentRow, (job_id, attempt, rank, start)) is not None:
                return offset
            found = session.scalar(
                select(func.min(LogSegmentRow.start)).where(
                    *_of(LogSegmentRow, job_id, attempt, rank), LogSegmentRow.start > start
                )
            )
        return offset if found is None else found

    def length(self, job_id: str, attempt: int, rank: int) -> int:
        """Stored length; 0 for an unknown task."""
        with self._database.reading() as session:
            task = session.get(TaskRow, (job_id, attempt, rank))
            return task.log_bytes if task is not None else 0

    def read(self, job_id: str, attempt: int, rank: int, offset: int, limit: int = READ_BYTES) -> bytes:
        """Return stored bytes from `offset`, at most `limit`, at most to the end of a segment; empty at the end."""
        start = offset - offset % SEGMENT_BYTES
        with self._database.reading() as session:
            row = session.get(LogSegmentRow, (job_id, attempt, rank, start))
            size = row.size if row is not None else 0
        wanted = min(limit, start + size - offset)
        if wanted <= 0:
            return b""
        try:
            return self._files.read(job_id, attempt, rank, start=start, at=offset - start, size=wanted)
        except FileNotFoundError:  # removed in the meantime
            return b""

    def read_until(self, job_id: str, attempt: int, rank: int, offset: int, end: int) -> Iterator[bytes]:
        while offset < end:
            piece = self.read(job_id, attempt, rank, offset, min(READ_BYTES, end - offset))
            if not piece:
                return
            offset += len(piece)
            yield piece

    def tail_offset(
        self, job_id: str, attempt: int, rank: int, num_lines: int, end: int, *, most_bytes: int = TAIL_BYTES
    ) -> int:
        """Offset of the last `num_lines` lines before `end`, at most `most_bytes` back."""
        if num_lines <= 0:
            return end
        first = max(0, end - most_bytes)
        position, left = end, num_lines
        while position > first:
            begin = max(first, position - READ_BYTES)
            piece = b"".join(self.read_until(job_id, attempt, rank, begin, position))
            if len(piece) < position - begin:  # the part before was removed
                return position
            # a final newline does not begin another line
            last = len(piece) - 1 if position == end else len(piece)
            found = piece.count(b"\n", 0, last)
            if found >= left:
                return begin + _nth_from_end(piece, left, last) + 1
            left -= found
            position = begin
        return first

    def skip(self, job_id: str, attempt: int, rank: int, *, offset: int, to: int) -> bool:
        """Continue at a later offset, the start of a segment; the part in between counts as removed.

        False when `offset` is no longer the stored length.
        """
        with self._database.writing() as session:
            task = update(TaskRow).where(
                TaskRow.job_id == job_id, TaskRow.attempt == attempt, TaskRow.rank == rank, TaskRow.log_bytes == offset
            )
            return num_changed(session, task.values(log_bytes=to - to % SEGMENT_BYTES)) == 1

    def add_marks(self, job_id: str, attempt: int, rank: int, marks: Sequence[tuple[int, datetime]]) -> None:
        if not marks:
            return
        with self._database.writing() as session:
            last = _last_mark(session, job_id, attempt, rank)
            session.add_all(
                LogMarkRow(job_id=job_id, attempt=attempt, rank=rank, offset=offset, at=at)
                for offset, at in marks
                if offset > last
            )

    def last_mark(self, job_id: str, attempt: int, rank: int) -> int:
        with self._database.reading() as session:
            return _last_mark(session, job_id, attempt, rank)

    def marks(
        self, job_id: str, attempt: int, *, rank: int, begin: int, end: int, most: int
    ) -> list[tuple[int, datetime]]:
        """Pairs of log length and time, for lengths from `begin` to `end`, evenly thinned to about `most`."""
        with self._database.reading() as session:
            found = session.execute(
                select(LogMarkRow.offset, LogMarkRow.at)
                .where(*_of(LogMarkRow, job_id, attempt, rank), LogMarkRow.offset.between(begin, end))
                .order_by(LogMarkRow.offset)
            ).all()
        step = max(1, len(found) // most)
        return [(offset, at) for offset, at in found[::step]]

    def offset_at(self, job_id: str, attempt: int, rank: int, moment: datetime) -> int:
        """Approximate length of the log at `moment`: that of the last mark before it."""
        with self._database.reading() as session:
            found = session.scalar(
                select(func.max(LogMarkRow.offset)).where(
                    *_of(LogMarkRow, job_id, attempt, rank), LogMarkRow.at <= moment
                )
            )
        return found or 0

    def marks_after(
        self, job_id: str, attempt: int, *, rank: int, offset: int, limit: int
    ) -> list[tuple[int, datetime]]:
        """Marks after an offset, oldest first."""
        query = (
            select(LogMarkRow.offset, LogMarkRow.at)
            .where(*_of(LogMarkRow, job_id, attempt, rank), LogMarkRow.offset > offset)
            .order_by(LogMarkRow.offset)
            .limit(limit)
        )
        with self._database.reading() as session:
            return [(row.offset, row.at) for row in session.execute(query)]

    def remove_attempt(self, session: Session, job_id: str, attempt: int) -> None:
        """Delete the index of an attempt's logs. After the commit call `drop_files`."""
        for table in (LogSegmentRow, LogMarkRow):
            session.execute(delete(table).where(table.job_id == job_id, table.attempt == attempt))

    def delete_job(self, session: Session, job_id: str) -> None:
        """Delete the index of a job's logs. After the commit call `drop_files`."""
        for table in (LogSegmentRow, LogMarkRow):
            session.execute(delete(table).where(table.job_id == job_id))

    def drop_files(self, job_id: str, attempt: int | None = None) -> None:
        self._files.delete(job_id, attempt)

    def _trim(self, job_id: str, attempt: int, rank: int, *, before: int) -> None:
        """Remove whole segments from the middle; the first one stays."""
        old = (LogSegmentRow.start > 0, LogSegmentRow.start + LogSegmentRow.size <= before)
        with self._database.writing() as session:
            where = (*_of(LogSegmentRow, job_id, attempt, rank), *old)
            starts = session.scalars(select(LogSegmentRow.start).where(*where)).all()
            session.execute(delete(LogSegmentRow).where(*where))
        for start in starts:
            self._files.delete_segment(job_id, attempt, rank, start)


def _nth_from_end(piece: bytes, number: int, end: int) -> int:
    """Position of the `number`th line feed before `end`, counted backwards. There must be that many."""
    while number:
        end = piece.rfind(b"\n", 0, end)
        number -= 1
    return end


def _of(
    table: type[LogSegmentRow] | type[LogMarkRow], job_id: str, attempt: int, rank: int
) -> tuple[ColumnElement[bool], ...]:
    return table.job_id == job_id, table.attempt == attempt, table.rank == rank


def _record_piece(
    session: Session, job_id: str, attempt: int, rank: int, *, start: int, offset: int, size: int
) -> bool:
    """Advance the stored length from `offset`; False if another server already has."""
    task = update(TaskRow).where(
        TaskRow.job_id == job_id, TaskRow.attempt == attempt, TaskRow.rank == rank, TaskRow.log_bytes == offset
    )
    if num_changed(session, task.values(log_bytes=offset + size)) == 0:
        return False
    row = session.get(LogSegmentRow, (job_id, attempt, rank, start))
    if row is None:
        session.add(LogSegmentRow(job_id=job_id, attempt=attempt, rank=rank, start=start, size=size))
    else:
        row.size = offset - start + size
    return True


def _last_mark(session: Session, job_id: str, attempt: int, rank: int) -> int:
    found = session.scalar(select(func.max(LogMarkRow.offset)).where(*_of(LogMarkRow, job_id, attempt, rank)))
    return found or 0
