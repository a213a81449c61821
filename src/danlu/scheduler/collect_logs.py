"""Bringing log bytes from the nodes into the store."""

from __future__ import annotations

from datetime import datetime, timezone

from danlu.engines.base import Engine, Handle, Observation
from danlu.store.logs.index import Logs
from danlu.store.sql.tables import TaskRow

PIECE_BYTES = 4 << 20
MAX_PIECES = 4
"""Per task and look, so that a chatty task does not keep the others waiting."""


def collect(logs: Logs, engine: Engine, handle: Handle, task: TaskRow, seen: Observation) -> int:
    """Store what the task has written since the last look; return the stored length."""
    stored = task.log_bytes
    for _ in range(MAX_PIECES):
        if stored >= seen.log_bytes:
            break
        data = engine.read_log(handle, stored, min(PIECE_BYTES, seen.log_bytes - stored))
        if not data:
            break
        stored = logs.append(task.job_id, task.attempt, task.rank, offset=stored, data=data)
    if stored > task.log_bytes:
        last = logs.last_mark(task.job_id, task.attempt, task.rank)
        marks = engine.read_marks(handle, last)
        logs.add_marks(
            task.job_id,
            task.attempt,
            task.rank,
            [(mark.offset, datetime.fromtimestamp(mark.at, timezone.utc)) for mark in marks],
        )
    return stored
