"""Journals by offset. Bytes are durable before the database records them or the client gets a response."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from danlu.errors import Conflict, InvalidInput, NotFound
from danlu.journal import BadJournal, read_file_header, scan
from danlu.journal.format import FILE_HEADER_BYTES
from danlu.store.metrics.journal_files import JournalFiles
from danlu.store.sql.database import Database, num_changed
from danlu.store.sql.run_tables import JournalRow, RunRow

MAX_JOURNALS = 10_000
"""Maximum number of journals of one run."""

MAX_PIECE_BYTES = 8 << 20
"""Maximum size of a request. Clients send complete frames of about 4 MiB in total."""


class Journals:
    """The journals of all runs. Safe from several threads and several servers."""

    def __init__(self, database: Database, files: JournalFiles) -> None:
        self._database = database
        self._files = files
        self._locks = [threading.Lock() for _ in range(64)]
        self._looked_at: set[tuple[str, str]] = set()

    def offset(self, run: int, run_id: str, journal: str) -> int:
        """Durable length; 0 for an unknown journal."""
        with self._lock(run_id, journal):
            self._adopt(run, run_id, journal)
            return self._stored(run, journal) or 0

    def append(self, run: int, run_id: str, journal: str, *, offset: int, data: bytes, now: datetime) -> int:
        """Append bytes at `offset` that are not stored yet; return the durable length.

        Nothing is added if bytes before `offset` are missing. An incomplete frame is left for the next call. Raise
        InvalidInput if the bytes are not frames of a journal, Conflict if they differ from stored ones.
        """
        whole = _whole(data, offset)
        with self._lock(run_id, journal):
            self._adopt(run, run_id, journal)
            stored = self._stored(run, journal)
            there = stored or 0
            if offset > there or offset + whole <= there:
                self._database.write(_touch, run, run_id, now)
                return there
            self._check_same(run_id, journal, offset, data[: there - offset])
            fresh = data[there - offset : whole]
            self._files.write(run_id, journal, there, fresh)
            if self._database.write(_advance, run, run_id, journal, before=there, after=there + len(fresh), now=now):
                return there + len(fresh)
            return self._stored(run, journal) or 0

    def read(self, run_id: str, journal: str, start: int, end: int) -> bytes:
        return self._files.read(run_id, journal, start, end)

    def delete_run(self, run_id: str) -> None:
        self._files.delete_run(run_id)

    def _check_same(self, run_id: str, journal: str, offset: int, overlap: bytes) -> None:
        """Raise Conflict if the new bytes differ from the stored ones."""
        if overlap and self._files.read(run_id, journal, offset, offset + len(overlap)) != overlap:
            raise Conflict(f"the bytes from {offset} on differ from the stored ones; a journal is append-only")

    def _stored(self, run: int, journal: str) -> int | None:
        with self._database.reading() as session:
            return session.scalar(select(JournalRow.offset).where(JournalRow.run == run, JournalRow.name == journal))

    def _adopt(self, run: int, run_id: str, journal: str) -> None:
        """Once per journal, add complete frames of the file that the database does not know.

        A database may lose its last commits in a power failure.
        """
        if (run_id, journal) in self._looked_at:
            return
        there, size = self._stored(run, journal), self._files.size(run_id, journal)
        if there is not None and size > there:
            data = self._files.read(run_id, journal, there, size)
            first = FILE_HEADER_BYTES if there == 0 else 0
            end = there + scan(data, first).end if len(data) > first else there
            self._database.write(_advance, run, run_id, journal, before=there, after=end, now=None)
        self._looked_at.add((run_id, journal))

    def _lock(self, run_id: str, journal: str) -> threading.Lock:
        return self._locks[hash((run_id, journal)) % len(self._locks)]


def journals_of(session: Session, run: int) -> Sequence[JournalRow]:
    """The journals of a run, by branch."""
    query = select(JournalRow).where(JournalRow.run == run).order_by(JournalRow.branch, JournalRow.name)
    return session.scalars(query).all()


def not_ingested(session: Session, limit: int) -> list[tuple[int, str]]:
    """Journals with bytes to ingest: (run, name)."""
    query = select(JournalRow.run, JournalRow.name).where(JournalRow.ingested < JournalRow.offset).limit(limit)
    return [(row[0], row[1]) for row in session.execute(query)]


def _whole(data: bytes, offset: int) -> int:
    """Length of the complete frames. Raise InvalidInput if the bytes are not frames."""
    if not data:
        return 0
    first = 0
    try:
        if offset == 0:
            read_file_header(data)
            first = FILE_HEADER_BYTES
        found = scan(data, first)
    except BadJournal as error:
        raise InvalidInput(f"journal: {error}", fields={"journal": str(error)}) from error
    if found.is_damaged:
        problem = f"the bytes at {offset + found.end} are not a frame of a journal; send from the start of a frame"
        raise InvalidInput(f"journal: {problem}", fields={"journal": problem})
    return found.end


def _touch(session: Session, run: int, run_id: str, now: datetime) -> None:
    session.execute(update(RunRow).where(RunRow.number == run, RunRow.id == run_id).values(seen_at=now))


def _advance(
    session: Session, run: int, run_id: str, journal: str, *, before: int, after: int, now: datetime | None
) -> bool:
    """Store a journal's new length; False if another server was faster."""
    # the run may have been purged meanwhile, and its number reused
    if session.scalar(select(RunRow.number).where(RunRow.number == run, RunRow.id == run_id)) is None:
        raise NotFound("the run was deleted a moment ago")
    if now is not None:
        _touch(session, run, run_id, now)
    found = select(JournalRow.offset).where(JournalRow.run == run, JournalRow.name == journal)
    if before == 0 and session.scalar(found) is None:
        names = session.scalars(select(JournalRow.name).where(JournalRow.run == run)).all()
        if len(names) >= MAX_JOURNALS:
            raise InvalidInput(f"a run has at most {MAX_JOURNALS} journals")
        session.add(JournalRow(run=run, name=journal, offset=after, layouts={}))
        return True
    statement = update(JournalRow).where(JournalRow.run == run, JournalRow.name == journal, JournalRow.offset == before)
    return num_changed(session, statement.values(offset=after)) == 1
