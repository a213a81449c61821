"""A few threads that do one kind of work on what they are handed. The first problem ends it for all."""

from __future__ import annotations

import contextlib
import queue
import threading
from types import TracebackType
from typing import Callable, Generic, Optional, TypeVar

from danlu.transfer.errors import Stopped
from danlu.transfer.progress import Told

T = TypeVar("T")


class Crew(Generic[T]):
    """Use it in a `with`: at its end all work is done, or the first problem is raised."""

    def __init__(self, work: Callable[[T], None], num_threads: int) -> None:
        self._work = work
        # as long as all are busy, `put` waits: what is handed over is never far ahead of what is done
        self._queue: queue.Queue[Optional[T]] = queue.Queue(1)
        self._problem: Optional[BaseException] = None
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(max(1, num_threads))]
        self.has_failed = threading.Event()
        """Set when there is no point in going on."""

    def put(self, item: T) -> None:
        """Hand over an item. Raise the first problem of a worker, if there was one."""
        self.check()
        self._queue.put(item)

    def check(self) -> None:
        if self._problem is not None:
            raise self._problem

    def told(self, told: Told) -> Told:
        """The same listener, which raises Stopped in workers that move bytes after another one failed."""

        def tell(file: str, num_bytes: int, has_travelled: bool) -> None:
            if num_bytes > 0 and self.has_failed.is_set():
                raise Stopped
            told(file, num_bytes, has_travelled)

        return tell

    def __enter__(self) -> Crew[T]:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], _: Optional[TracebackType]
    ) -> None:
        if error is not None:
            self._fail(error)
        try:
            self._wait()
        except BaseException as interrupt:  # Ctrl-C while we wait: workers stop
            self._fail(interrupt)
            self._wait()
            raise
        if error is None:
            self.check()

    def _wait(self) -> None:
        while any(thread.is_alive() for thread in self._threads):
            try:
                self._queue.put(None, timeout=1.0)
                break
            except queue.Full:  # all are busy
                continue
        for thread in self._threads:
            thread.join()

    def _fail(self, problem: BaseException) -> None:
        self._problem = self._problem or problem
        self.has_failed.set()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            if not self.has_failed.is_set():
                self._do(item)
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(None)  # for the next one

    def _do(self, item: T) -> None:
        try:
            self._work(item)
        except BaseException as problem:
            self._fail(problem)
