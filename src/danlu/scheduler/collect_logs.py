"""Copy logs from the nodes into the store, in separate threads: users decide how much there is to copy."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from danlu.engines.base import CanCopyLogs, Engine, Handle, LogMark, Observation
from danlu.errors import DanluError
from danlu.store.logs.index import Logs
from danlu.store.logs.segments import SEGMENT_BYTES
from danlu.store.sql.tables import TaskRow

PIECE_BYTES = SEGMENT_BYTES
"""Most that is copied of one log, at most to the end of a segment, before the next log is served."""

NUM_THREADS, NUM_REMOTE_THREADS = 2, 4
"""Threads for engines on this machine, and for remote ones: the latter mostly wait for the network."""

MUCH_BYTES = 256 << 10
"""A log that grew by this much since the last poll probably still grows: it is read on until nothing new is there."""

PATIENCE_SECONDS = 0.05
"""How long a scheduler tick waits for all copies. Most are done by then; longer ones continue in the background."""

IDLE_SECONDS = 10.0


@dataclass
class _Task:
    """A log that is being copied."""

    engine: Engine
    handle: Handle
    stored: int
    wanted: int
    problem: DanluError | None = None

    @property
    def is_done(self) -> bool:
        return self.stored >= self.wanted or self.problem is not None


class LogCopier:
    """Copies logs. Threads serve the tasks round-robin, one piece at a time, and end when they have been idle."""

    def __init__(self, logs: Logs, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._logs, self._patience_seconds = logs, patience_seconds
        self._tasks: dict[Handle, _Task] = {}
        self._queue: deque[_Task] = deque()
        self._changed = threading.Condition()
        self._num_threads = self._num_idle = 0
        self._wait_until = float("-inf")
        self._asked: set[Handle] = set()

    def begin_look(self) -> None:
        """Begin a tick: all `copy` calls until the next one wait for `patience_seconds` in total."""
        self._wait_until = time.monotonic() + self._patience_seconds
        with self._changed:
            for handle in [one for one, task in self._tasks.items() if task.is_done and one not in self._asked]:
                del self._tasks[handle]  # not requested in the last tick
            self._asked.clear()

    def copy(self, engine: Engine, handle: Handle, task: TaskRow, seen: Observation) -> int:
        """Copy a log up to the observed length; return the stored length, which may be less after the time limit.

        Raise the error that prevented the copy.
        """
        if task.log_bytes >= seen.log_bytes:
            return task.log_bytes
        with self._changed:
            self._asked.add(handle)
            known = self._tasks.get(handle)
            if known is None:
                known = self._tasks[handle] = _Task(engine, handle, stored=task.log_bytes, wanted=task.log_bytes)
            is_at_rest, known.wanted = known.is_done, max(known.wanted, seen.log_bytes)
            if is_at_rest and not known.is_done:
                known.stored = max(known.stored, task.log_bytes)
                self._queue.append(known)
                self._begin_thread(NUM_REMOTE_THREADS if engine.is_remote else NUM_THREADS)
                self._changed.notify_all()
            self._changed.wait_for(lambda: known.is_done, timeout=max(0.0, self._wait_until - time.monotonic()))
            if known.is_done:
                del self._tasks[handle]
            if known.problem is not None:
                raise known.problem
            return known.stored

    def _begin_thread(self, most: int) -> None:
        if self._num_idle < len(self._queue) and self._num_threads < most:
            self._num_threads += 1
            threading.Thread(target=self._run, name="log-copier", daemon=True).start()

    def _run(self) -> None:
        while (task := self._next()) is not None:
            problem: DanluError | None = None
            stored = before = task.stored
            try:
                stored = copy_piece(self._logs, task.engine, task.handle, task.stored, task.wanted)
            except DanluError as error:
                problem = error
            except Exception as error:  # a bug with one log must not stop the others
                problem = DanluError(f"the log of {task.handle.job_id} cannot be copied: {error}")
            with self._changed:
                is_stuck = stored <= before and problem is None
                task.stored, task.problem = stored, problem
                if is_stuck:  # the observed bytes cannot be read (yet)
                    task.wanted = stored
                elif stored - before >= MUCH_BYTES or stored % PIECE_BYTES == 0:
                    task.wanted = max(task.wanted, stored + 1)
                if not task.is_done:
                    self._queue.append(task)
                self._changed.notify_all()

    def _next(self) -> _Task | None:
        """The next task of the queue; None after IDLE_SECONDS without one."""
        with self._changed:
            self._num_idle += 1
            self._changed.wait_for(lambda: bool(self._queue), timeout=IDLE_SECONDS)
            self._num_idle -= 1
            if self._queue:
                return self._queue.popleft()
            self._num_threads -= 1
            return None


def copy_piece(logs: Logs, engine: Engine, handle: Handle, stored: int, wanted: int) -> int:
    """Store the next piece of a log; return the stored length."""
    place = (handle.job_id, handle.attempt, handle.rank)
    end = wanted - logs.max_bytes
    if end - end % SEGMENT_BYTES > stored >= SEGMENT_BYTES:  # would be removed as soon as it is stored
        return end - end % SEGMENT_BYTES if logs.skip(*place, offset=stored, to=end) else logs.length(*place)
    limit = PIECE_BYTES - stored % PIECE_BYTES  # includes what was written since the poll
    if isinstance(engine, CanCopyLogs):
        length, marks = _have_copied(logs, engine, handle, stored, limit)
    else:
        data, marks = engine.read_log_piece(handle, stored, limit=limit, after_mark=logs.last_mark(*place))
        length = logs.append(*place, offset=stored, data=data)
    if length > stored:
        logs.add_marks(*place, [(mark.offset, datetime.fromtimestamp(mark.at, timezone.utc)) for mark in marks])
    return length


def _have_copied(
    logs: Logs, engine: CanCopyLogs, handle: Handle, stored: int, limit: int
) -> tuple[int, Sequence[LogMark]]:
    """Let the engine write into the store's file; return the stored length and the new marks."""
    place = (handle.job_id, handle.attempt, handle.rank)
    after_mark = logs.last_mark(*place)
    marks: list[LogMark] = []

    def write(path: Path, at: int) -> int:
        copied = engine.copy_log(handle, stored, limit=limit, after_mark=after_mark, path=path, at=at)
        marks.extend(copied.marks)
        return copied.size

    job_id, attempt, rank = place
    return logs.fill(job_id, attempt, rank=rank, offset=stored, write=write), marks
