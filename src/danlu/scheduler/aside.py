"""Work whose length is up to users, such as removing the files of a task: done beside the loop, which does not wait."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

log = logging.getLogger(__name__)


class Aside:
    """One thread, which is there while there is something to do."""

    def __init__(self) -> None:
        self._work: deque[Callable[[], object]] = deque()
        self._lock = threading.Lock()
        self._is_at_work = False

    def do(self, work: Callable[[], object]) -> None:
        """Have it done after what was asked for before. Returns at once."""
        with self._lock:
            self._work.append(work)
            if self._is_at_work:
                return
            self._is_at_work = True
        threading.Thread(target=self._run, name="scheduler-aside", daemon=True).start()

    def finish(self) -> None:
        """Wait until all that was asked for is done."""
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
