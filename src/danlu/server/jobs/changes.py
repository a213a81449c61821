"""All jobs that somebody sees, as a stream of what changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Optional

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.server import sse
from danlu.server.identity import CurrentUser
from danlu.server.jobs.view import rows_out
from danlu.server.openapi import EVENTS
from danlu.server.scope import visible_project_ids
from danlu.server.state import ServerState, State
from danlu.server.streams import changes_among, listener
from danlu.store.queries import jobs
from danlu.wire.base import Answer, GoneOut

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
    return sse.stream(changes_among(state, partial(_look, state, who), follow=follow, seconds=LOOK_SECONDS))


def _look(state: ServerState, who: UserIdentity, before: Optional[Look]) -> Optional[Look]:
    with state.database.reading() as session:
        now = listener(session, state, who)
        if now is None:
            return None
        versions = jobs.open_versions(session, visible_project_ids(now))
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
