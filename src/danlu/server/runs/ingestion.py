"""Background work on runs: ingest journals, build packs, mark runs that died, empty the trash."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from danlu.errors import DanluError
from danlu.server.runs.reconcile import reconcile
from danlu.store.metrics.store import Metrics
from danlu.store.queries import runs
from danlu.store.sql.database import Database

log = logging.getLogger(__name__)

INGEST_SECONDS = 0.2
RECONCILE_SECONDS = 5.0
FIND_SECONDS = 30.0
"""How often to look for journals that another server received and did not ingest."""

PURGE_SECONDS = 600.0
PURGE_AT_ONCE = 100


class Ingestion:
    """A thread. All of its work may be interrupted, and is repeated by the next server."""

    def __init__(self, database: Database, metrics: Metrics, now: Callable[[], datetime], *, trash_days: int) -> None:
        self._database = database
        self._metrics = metrics
        self._now = now
        self._trash_days = trash_days
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._due = {self._find: 0.0, self._reconcile: 0.0, self._purge: 0.0}
        self._every = {self._find: FIND_SECONDS, self._reconcile: RECONCILE_SECONDS, self._purge: PURGE_SECONDS}

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="runs", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def tick(self) -> None:
        """Do once what is due."""
        for work, due in self._due.items():
            if time.monotonic() >= due:
                self._due[work] = time.monotonic() + self._every[work]
                work()
        self._metrics.ingest_changed()

    def _run(self) -> None:
        while not self._stopping.wait(INGEST_SECONDS):
            try:
                self.tick()
            except DanluError as error:
                log.warning("ingestion failed, retrying in a second: %s", error)
                self._stopping.wait(1.0)
            except Exception:
                # a bug must not end the thread: no run would be updated any more
                log.exception("unexpected error in ingestion; it continues")
                self._stopping.wait(1.0)

    def _find(self) -> None:
        self._metrics.find_not_ingested()

    def _reconcile(self) -> None:
        reconcile(self._database, self._now())

    def _purge(self) -> None:
        if self._trash_days == 0:
            return
        with self._database.writing() as session:
            old = runs.trashed_before(session, self._now() - timedelta(days=self._trash_days), PURGE_AT_ONCE)
            gone = [row.id for row in old]
            for row in old:
                runs.purge(session, row)
        for run_id in gone:
            self._metrics.delete_run(run_id)
