"""Work whose length is up to users, such as removing the files of a task: done beside the loop, which does not wait."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)


class Aside:
    """One thread, which begins with the first piece of work."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def do(self, work: Callable[[], object]) -> None:
        """Have it done after what was asked for before. Returns at once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="scheduler-aside", daemon=True)
            self._thread.start()
        self._work.put(work)

    def finish(self) -> None:
        """Wait until all that was asked for is done."""
        is_done = threading.Event()
        self.do(is_done.set)
        is_done.wait()

    def _run(self) -> None:
        while True:
            work = self._work.get()
            try:
                work()
            except Exception:
                log.exception("what is done beside the scheduler met an error")
