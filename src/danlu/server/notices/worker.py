"""Background work: notices about ended jobs and alerts of scripts, checks for alerts, deliveries."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta

from danlu.errors import DanluError
from danlu.server.alerts.watch import look
from danlu.server.notices.ends import find_new, tell_ends
from danlu.server.notices.run_alerts import tell_run_alerts
from danlu.server.state import ServerState
from danlu.server.webhooks.operations import deliver_due
from danlu.store.queries.monitoring import notices, run_alerts

log = logging.getLogger(__name__)

GATHER_SECONDS = 0.2
"""Delay after a commit, so that simultaneous changes are handled at once."""

IDLE_SECONDS = 5.0
"""Commits of other servers are noticed within this time."""

ALERT_DUTY = 3
FORGET_SECONDS = 3600.0
KEEP_DAYS = 90


class Teller:
    """Two threads, so that receivers that do not answer delay no notices. All work is repeated after a crash."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._stopping = threading.Event()
        self._changed, self._due = threading.Event(), threading.Event()
        self._look_at = self._forget_at = 0.0
        self._seen = 0
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        self._state.database.on_commit.add(self._changed.set)
        for name, work, wake in (("notices", self.tick, self._changed), ("deliveries", self._deliver, self._due)):
            thread = threading.Thread(target=self._run, args=(work, wake), name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        self._state.database.on_commit.discard(self._changed.set)
        self._stopping.set()
        self._changed.set()
        self._due.set()
        self._threads[0].join(timeout=30)  # the other one may wait for a receiver; its claims expire

    def tick(self) -> None:
        """Do everything that is due, except deliveries."""
        state = self._state
        is_new, newest = state.database.read(find_new, seen=self._seen)
        while is_new and state.database.write(tell_ends, state):
            self._due.set()
        self._seen = newest
        while state.database.read(run_alerts.are_waiting) and state.database.write(tell_run_alerts, state):
            self._due.set()
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + state.settings.alert_seconds
            with state.database.duty(ALERT_DUTY) as is_mine:
                if is_mine:
                    look(state)
                    self._due.set()
        if time.monotonic() >= self._forget_at:
            self._forget_at = time.monotonic() + FORGET_SECONDS
            state.database.write(notices.forget_notices, state.now() - timedelta(days=KEEP_DAYS))

    def _deliver(self) -> None:
        while deliver_due(self._state):
            if self._stopping.is_set():
                return

    def _run(self, work: Callable[[], None], wake: threading.Event) -> None:
        while not self._stopping.is_set():
            if wake.wait(min(IDLE_SECONDS, self._state.settings.alert_seconds)):
                self._stopping.wait(GATHER_SECONDS)
            wake.clear()
            if self._stopping.is_set():
                return
            try:
                work()
            except DanluError as error:
                log.warning("notices failed, retrying later: %s", error)
            except Exception:
                # a bug must not end the thread: no notices would be sent any more
                log.exception("unexpected error while sending notices; it continues")
