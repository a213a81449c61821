"""The metric store of the server."""

from __future__ import annotations

import logging
import threading
from datetime import datetime

from danlu.errors import DanluError
from danlu.journal import decode_media, scan
from danlu.journal.format import Kind
from danlu.store.metrics import build_packs
from danlu.store.metrics.decode import decode, printed
from danlu.store.metrics.ingest import ingest_stretch, layouts_of
from danlu.store.metrics.journal_files import JournalFiles
from danlu.store.metrics.journals import Journals, not_ingested
from danlu.store.metrics.packs import Packs
from danlu.store.metrics.reading import Reader
from danlu.store.objects.base import Objects
from danlu.store.queries import runs
from danlu.store.sql.database import Database
from danlu.store.sql.run_tables import JournalRow, MediaRow, RunRow

log = logging.getLogger(__name__)

INGEST_BYTES = 4 << 20
MEDIA_BYTES = 64 << 20
"""Maximum size of one image or text."""


class Metrics:
    """Receives and ingests journals, and reads points."""

    def __init__(
        self, database: Database, files: JournalFiles, objects: Objects, *, pack_bytes: int = build_packs.PACK_BYTES
    ) -> None:
        self._database = database
        self.journals = Journals(database, files)
        self.packs = Packs(objects)
        self.reader = Reader(self.journals, self.packs)
        self._pack_bytes = pack_bytes
        self._changed: set[tuple[int, str, str]] = set()
        self._lock = threading.Lock()

    def append(self, run: int, run_id: str, journal: str, *, offset: int, data: bytes, now: datetime) -> int:
        """Like `Journals.append`. The new bytes are ingested by `ingest_changed`."""
        end = self.journals.append(run, run_id, journal, offset=offset, data=data, now=now)
        if data:
            with self._lock:
                self._changed.add((run, run_id, journal))
        return end

    def ingest_changed(self) -> int:
        """Ingest new bytes and build packs that are due; return the number of journals.

        A journal that fails does not block others; it is retried after the next `find_not_ingested`.
        """
        with self._lock:
            changed, self._changed = self._changed, set()
        for run, run_id, journal in changed:
            try:
                self.ingest_journal(run, run_id, journal)
            except DanluError as error:
                log.warning("%s: cannot ingest journal %s now, retrying later: %s", run_id, journal, error)
            except Exception:
                log.exception("%s: cannot ingest journal %s", run_id, journal)
        return len(changed)

    def find_not_ingested(self) -> None:
        """Queue journals that a stopped server did not ingest."""
        with self._database.reading() as session:
            for run, journal in not_ingested(session, 1000):
                row = session.get(RunRow, run)
                if row is not None:
                    with self._lock:
                        self._changed.add((run, row.id, journal))

    def ingest_journal(self, run: int, run_id: str, journal: str) -> None:
        """Ingest one journal to its end."""
        while True:
            with self._database.reading() as session:
                row, owner = session.get(JournalRow, (run, journal)), session.get(RunRow, run)
            if row is None or owner is None or owner.id != run_id or row.ingested >= row.offset:
                return
            data = self.journals.read(run_id, journal, row.ingested, min(row.offset, row.ingested + INGEST_BYTES))
            stretch = decode(data, row.ingested, layouts_of(row), row.ingested_branch)
            if stretch.end <= row.ingested:
                log.warning("%s: cannot decode journal %s at %s", run_id, journal, row.ingested)
                return
            if not self._database.write(ingest_stretch, run, journal, row.ingested, stretch):
                continue  # another server was faster; continue after it
            self._build(run, run_id, journal)

    def read_media(self, run_id: str, media: MediaRow) -> bytes:
        """The bytes of an image, a text or a histogram."""
        data = self.journals.read(run_id, media.journal, media.start, media.start + MEDIA_BYTES)
        pieces: list[bytes] = []
        for frame in scan(data, 0).frames:
            if frame.kind != Kind.MEDIA or len(pieces) == media.num_parts:
                break
            pieces.append(decode_media(frame).data)
        return b"".join(pieces)

    def read_output(self, run: RunRow, journal: str, offset: int) -> bytes:
        """Output bytes of the run from `offset`, at most one range; empty at the end."""
        with self._database.reading() as session:
            row = runs.output_from(session, run.number, journal, offset)
        if row is None:
            return b""
        text = b"".join(printed(self.journals.read(run.id, journal, row.start, row.end)))
        return text[max(0, offset - row.first) :]

    def delete_run(self, run_id: str) -> None:
        """Delete the files of a run that is deleted in the database. Idempotent."""
        self.packs.delete_run(run_id)
        self.journals.delete_run(run_id)

    def _build(self, run: int, run_id: str, journal: str) -> None:
        while True:
            with self._database.reading() as session:
                row = session.get(JournalRow, (run, journal))
            if row is None or not build_packs.is_due(row, self._pack_bytes):
                return
            if not build_packs.build_next(
                self._database, self.journals, self.packs, row, run_id, pack_bytes=self._pack_bytes
            ):
                return
