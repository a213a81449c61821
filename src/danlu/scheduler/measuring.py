"""Bringing what tasks use from the nodes into the store. Nothing waits for it, and no job fails for want of it."""

from __future__ import annotations

import logging

from danlu.engines.base import Engine, Handle
from danlu.errors import DanluError
from danlu.store.metrics.use import UseFiles

log = logging.getLogger(__name__)


def collect_use(files: UseFiles, engine: Engine, handle: Handle) -> None:
    """Store what was measured of a task since the last time."""
    place = (handle.job_id, handle.attempt, handle.rank)
    try:
        generation, size = files.known(*place)
        piece = engine.read_use(handle, generation, size)
        if piece is not None and piece.data:
            files.put(*place, offset=piece.offset, data=piece.data)
    except (DanluError, OSError) as error:
        log.warning("what rank %s of %s uses is not stored: %s", handle.rank, handle.job_id, error)
