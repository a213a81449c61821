"""A few threads that do one kind of work on what they are handed. The first problem ends it for all."""

from __future__ import annotations

import queue
import threading
from types import TracebackType
from typing import Callable, Generic, Optional, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """Somebody else has failed; there is no point in going on."""


class Crew(Generic[T]):
    """Use it in a `with`: at its end all work is done, or the first problem is raised."""

    def __init__(self, work: Callable[[T], None], num_threads: int, *, rest: Callable[[], None]) -> None:
        """`rest` is called in each thread when it has no more to do."""
        self._work = work
        self._rest = rest
        # as long as all are busy, `put` waits: what is handed over is never far ahead of what is done
        self._queue: queue.Queue[Optional[T]] = queue.Queue(1)
        self._problem: Optional[BaseException] = None
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(num_threads)]

    def put(self, item: T) -> None:
        """Hand something over. Raise the problem that somebody had meanwhile."""
        self.check()
        self._queue.put(item)

    def check(self) -> None:
        if self._problem is not None:
            raise self._problem

    def __enter__(self) -> Crew[T]:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], _: Optional[TracebackType]
    ) -> None:
        if error is not None:
            self._problem = self._problem or Stopped()
        for _thread in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()
        if error is None:
            self.check()

    def _run(self) -> None:
        try:
            while (item := self._queue.get()) is not None:
                if self._problem is None:
                    self._do(item)
        finally:
            self._rest()

    def _do(self, item: T) -> None:
        try:
            self._work(item)
        except BaseException as problem:
            self._problem = self._problem or problem
