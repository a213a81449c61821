"""Background work that may take long, such as removing the files of a task. The scheduler loop does not wait for it."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

log = logging.getLogger(__name__)


class Aside:
    """Runs work in one thread, in order. The thread ends when the queue is empty."""

    def __init__(self) -> None:
        self._work: deque[Callable[[], object]] = deque()
        self._lock = threading.Lock()
        self._is_at_work = False

    def do(self, work: Callable[[], object]) -> None:
        """Append work to the queue. Returns at once."""
        with self._lock:
            self._work.append(work)
            if self._is_at_work:
                return
            self._is_at_work = True
        threading.Thread(target=self._run, name="scheduler-aside", daemon=True).start()

    def finish(self) -> None:
        """Wait until all work queued so far is done."""
        is_done = threading.Event()
        self.do(is_done.set)
        is_done.wait()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._work:
                    self._is_at_work = False
                    return
                work = self._work.popleft()
            try:
                work()
            except Exception:
                log.exception("unexpected error in background work of the scheduler")
