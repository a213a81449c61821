"""Slow operations of the data flow: walks that first add older jobs and runs, and lookups in the object store."""

from __future__ import annotations

from danlu.auth.identity import JobIdentity, UserIdentity
from danlu.server.flow import recording, service
from danlu.server.state import ServerState
from danlu.spec.paths import StorePath
from danlu.store.queries.flow_walk import Reach
from danlu.wire.flow import FlowOut


def look(state: ServerState, who: UserIdentity, text: str, reach: Reach) -> FlowOut:
    """A page of the data flow around a node. Raise NotFound when it does not exist, or the user may not see it."""
    start, is_known = state.database.read(service.resolve_known, who, text)
    if not is_known:
        state.database.write(service.adopt, state, start)
    return state.database.read(service.walk, who, start, reach)


def record_output(state: ServerState, who: JobIdentity) -> None:
    """Record that a job has put files below its output. Most often that is already recorded."""
    if not state.database.read(recording.is_output_known, who):
        state.database.write(recording.job_wrote, who, state.now())


def bury_emptied(state: ServerState, path: StorePath) -> None:
    """Mark paths of the data flow as deleted where no object is left, after deletions at or below `path`."""
    around = state.database.read(recording.paths_around, path)
    empty = [found.path for found in around if _is_empty(state, found.stored)]
    if empty:
        state.database.write(recording.paths_emptied, empty, state.now())


def _is_empty(state: ServerState, stored: StorePath) -> bool:
    """Whether neither this object nor any below it exists."""
    name = stored.key.rstrip("/")
    listing = state.objects.list(stored.bucket, prefix=name, delimiter="", after="", limit=1)
    keys = [info.key for info in listing.objects]
    if not keys or not name or keys[0] == name or keys[0].startswith(f"{name}/"):
        return not keys
    below = state.objects.list(stored.bucket, prefix=f"{name}/", delimiter="", after="", limit=1)
    return not below.objects
