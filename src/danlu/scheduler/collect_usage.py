"""Copy usage of tasks from the nodes into the store. Failures are logged; no job fails because of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence

from danlu.engines.base import Engine, Handle, UsagePiece
from danlu.errors import DanluError
from danlu.scheduler.live import LiveJob
from danlu.spec.states import TaskState
from danlu.store.metrics.usage import UsageFiles, whole_cells

log = logging.getLogger(__name__)

EVERY_SECONDS = 5.0
Place = tuple[int, int]
"""Generation and length of a copy."""


class Collector:
    """Polls running tasks every EVERY_SECONDS. The cache only avoids reading the stored copies again."""

    def __init__(self, files: UsageFiles, engines: Mapping[str, Engine]) -> None:
        self._files, self._engines = files, engines
        self._known: dict[Handle, Place] = {}
        self._looked_at = float("-inf")

    def look(self, live: Sequence[LiveJob]) -> None:
        if time.monotonic() - self._looked_at < EVERY_SECONDS:
            return
        self._looked_at = time.monotonic()
        before, self._known = self._known, {}
        for name, engine in self._engines.items():
            running = [
                handle
                for item in live
                if item.job.engine == name
                for handle, task in zip(item.handles, item.tasks, strict=True)
                if task.state == TaskState.RUNNING.value
            ]
            places = [before.get(one) or self._files.known(one.job_id, one.attempt, one.rank) for one in running]
            self._known.update(zip(running, _collect(self._files, engine, handles=running, places=places), strict=True))


def collect_usage(files: UsageFiles, engine: Engine, handle: Handle) -> Place:
    """Store new measurements of a task; return the generation and length of the copy."""
    place = files.known(handle.job_id, handle.attempt, handle.rank)
    return _collect(files, engine, handles=[handle], places=[place])[0]


def _collect(
    files: UsageFiles, engine: Engine, *, handles: Sequence[Handle], places: Sequence[Place]
) -> Sequence[Place]:
    """Store new measurements of tasks; return the generation and length of each copy."""
    if not handles:
        return ()
    try:
        pieces = engine.read_usages([(handle, *place) for handle, place in zip(handles, places, strict=True)])
    except (DanluError, OSError) as error:
        log.warning("what %s tasks use is not stored: %s", len(handles), error)
        return places
    return [
        _store(files, handle, known=place, piece=piece)
        for handle, place, piece in zip(handles, places, pieces, strict=True)
    ]


def _store(files: UsageFiles, handle: Handle, *, known: Place, piece: UsagePiece | None) -> Place:
    if piece is None or not piece.data:
        return known
    try:
        files.put(handle.job_id, handle.attempt, handle.rank, offset=piece.offset, data=piece.data)
    except (DanluError, OSError) as error:
        log.warning("what rank %s of %s uses is not stored: %s", handle.rank, handle.job_id, error)
        return known
    return piece.generation, whole_cells(piece.offset + len(piece.data))
