"""Records that jobs are used: rights of users in a job are checked every few seconds, and each check is recorded."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from danlu.errors import DanluError
from danlu.store.queries.gateway import uses
from danlu.store.sql.database import Database

log = logging.getLogger(__name__)

NOTE_SECONDS = 15.0
"""A use is stored at most this often. A job may end this much too early."""

MAX_KNOWN = 10_000


class Uses:
    """Thread-safe. A database that does not answer is no reason to deny access."""

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._database, self._now = database, now
        self._noted: dict[str, datetime] = {}
        self._lock = threading.Lock()

    def note(self, job_id: str) -> None:
        now = self._now()
        with self._lock:
            last = self._noted.get(job_id)
            if last is not None and last <= now < last + timedelta(seconds=NOTE_SECONDS):
                return
            if len(self._noted) >= MAX_KNOWN:
                self._noted.clear()
            self._noted[job_id] = now
        try:
            self._database.write(uses.note_use, job_id, now)
        except DanluError as error:
            log.warning("the use of %s could not be noted: %s", job_id, error)
