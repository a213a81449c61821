"""Bringing what tasks use from the nodes into the store. Nothing waits for it, and no job fails for want of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence

from danlu.engines.base import Engine, Handle
from danlu.errors import DanluError
from danlu.scheduler.live import LiveJob
from danlu.spec.states import TaskState
from danlu.store.metrics.usage import UsageFiles, whole_cells

log = logging.getLogger(__name__)

EVERY_SECONDS = 5.0
Place = tuple[int, int]
"""Generation and length of a copy."""


class Collector:
    """Polls running tasks every few seconds. Its cache only avoids reading its own copies again."""

    def __init__(self, files: UsageFiles, engines: Mapping[str, Engine]) -> None:
        self._files, self._engines = files, engines
        self._known: dict[Handle, Place] = {}
        self._looked_at = float("-inf")

    def look(self, live: Sequence[LiveJob]) -> None:
        if time.monotonic() - self._looked_at < EVERY_SECONDS:
            return
        self._looked_at = time.monotonic()
        before, self._known = self._known, {}
        for item in live:
            engine = self._engines.get(item.job.engine)
            if engine is None:
                continue
            for handle, task in zip(item.handles, item.tasks, strict=True):
                if task.state == TaskState.RUNNING.value:
                    self._known[handle] = collect_usage(self._files, engine, handle, before.get(handle))


def collect_usage(files: UsageFiles, engine: Engine, handle: Handle, known: Place | None = None) -> Place:
    """Store what was measured of a task since the last time; return how far the copy is then."""
    place = (handle.job_id, handle.attempt, handle.rank)
    generation, size = known or files.known(*place)
    try:
        piece = engine.read_usage(handle, generation, size)
        if piece is None or not piece.data:
            return generation, size
        files.put(*place, offset=piece.offset, data=piece.data)
    except (DanluError, OSError) as error:
        log.warning("what rank %s of %s uses is not stored: %s", handle.rank, handle.job_id, error)
        return generation, size
    return piece.generation, whole_cells(piece.offset + len(piece.data))
