"""All jobs that somebody sees, as a stream of what changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Optional

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import NotSignedIn
from danlu.server import sse
from danlu.server.described import EVENTS
from danlu.server.identity import CurrentUser, is_still, user_identity
from danlu.server.jobs.view import rows_out
from danlu.server.people.service import project_ids_for
from danlu.server.state import ServerState, State
from danlu.store import jobs
from danlu.wire.base import Answer
from danlu.wire.jobs import GoneOut

router = APIRouter(tags=["jobs"])
LOOK_SECONDS = 0.5
OVERLAP = timedelta(seconds=10)
"""What happened shortly before is told as well: whoever fetches the list and then listens misses nothing."""


@dataclass(frozen=True)
class Look:
    """What somebody who listens has been told."""

    event_id: int
    versions: dict[str, int] = field(default_factory=dict)
    """Of the jobs that were not over."""

    told: tuple[tuple[str, Answer], ...] = ()


@router.get("/changes", response_class=StreamingResponse, responses=EVENTS)
def changes(who: CurrentUser, state: State, follow: bool = False) -> StreamingResponse:
    """Server-sent events: `job` with the row of each job that changed, `gone` for one that is not there any more.

    Begins with what changed in the last seconds, and goes on for ever with `follow`.
    """
    return sse.stream(_changes(state, who, follow=follow))


async def _changes(state: ServerState, who: UserIdentity, *, follow: bool) -> AsyncIterator[bytes]:
    look, spoke_at = await run_in_threadpool(_look, state, who, None), 0.0
    while look is not None and not state.stopping.is_set():
        for name, told in look.told:
            yield sse.event(name, told, event_id=str(look.event_id))
            spoke_at = time.monotonic()
        if not follow:
            return
        if time.monotonic() - spoke_at > sse.KEEP_ALIVE_SECONDS:  # the first one says that the stream is open
            yield sse.KEEP_ALIVE
            spoke_at = time.monotonic()
        await asyncio.sleep(LOOK_SECONDS)
        look = await run_in_threadpool(_look, state, who, look)


def _look(state: ServerState, who: UserIdentity, before: Optional[Look]) -> Optional[Look]:
    """What is to be told now; None when whoever listens may not any more."""
    with state.database.reading() as session:
        if not is_still(session, who, state.now()):
            return None
        try:
            now = user_identity(session, who.user_id)
        except NotSignedIn:
            return None
        versions = jobs.open_versions(session, project_ids_for(now))
        since = jobs.last_event(session, state.now() - OVERLAP) if before is None else before.event_id
        happened, event_id = jobs.with_events(session, since)
        known = versions if before is None else before.versions
        moved = {job_id for job_id, version in versions.items() if known.get(job_id) != version}
        left = known.keys() - versions.keys()
        return Look(event_id, versions, tuple(_told(session, now, happened | moved | left, left, state.now())))


def _told(
    session: Session, who: UserIdentity, ids: set[str], left: set[str], now: datetime
) -> list[tuple[str, Answer]]:
    found = jobs.jobs_by_id(session, sorted(ids))
    seen = [row for row in found.values() if rights.can_see_project(who, row.project_id)]
    told: list[tuple[str, Answer]] = [("job", row) for row in rows_out(session, seen, now)]
    gone = left - {row.id for row in seen}
    return told + [("gone", GoneOut(id=job_id)) for job_id in sorted(gone)]
