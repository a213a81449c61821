"""The runs of a list, as a stream of what changes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Optional

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from danlu.auth.identity import UserIdentity
from danlu.server import sse
from danlu.server.identity import CurrentUser
from danlu.server.openapi import EVENTS
from danlu.server.runs.view import rows_out
from danlu.server.runs.wanted import WantedRuns
from danlu.server.scope import visible_project_ids
from danlu.server.state import ServerState, State
from danlu.server.streams import changes_among, listener
from danlu.store.queries import runs
from danlu.wire.base import Answer, GoneOut

router = APIRouter(prefix="/runs", tags=["runs"])
LOOK_SECONDS = 1.0
NUM_NEWEST = 50
"""Beside those that are running, so many of the newest are looked at: they are who starts, and who has just ended."""


@dataclass(frozen=True)
class Look:
    """What somebody who listens has been told."""

    event_id: int = 0
    versions: dict[str, int] = field(default_factory=dict)
    told: tuple[tuple[str, Answer], ...] = ()


@router.get("/changes", response_class=StreamingResponse, responses=EVENTS)
def changes(who: CurrentUser, state: State, wanted: WantedRuns, follow: bool = False) -> StreamingResponse:
    """Server-sent events: `run` with the row of each run that changed, `gone` for one that is not in the list any more.

    Takes what the list of runs takes. Looks at those that are running and at the newest; begins with all of these, and
    goes on for ever with `follow`.
    """
    with state.database.reading() as session:  # a filter that cannot be read is an error, not a stream
        runs.list_runs(session, wanted, before=None, limit=1)
    return sse.stream(changes_among(state, partial(_look, state, who, wanted), follow=follow, seconds=LOOK_SECONDS))


def _look(state: ServerState, who: UserIdentity, wanted: runs.RunFilter, before: Optional[Look]) -> Optional[Look]:
    with state.database.reading() as session:
        now = listener(session, state, who)
        if now is None:
            return None
        wanted = replace(wanted, project_ids=visible_project_ids(now))
        known = {} if before is None else before.versions
        versions = runs.lively_versions(session, wanted, num_newest=NUM_NEWEST, also=known.keys())
        moved = [run_id for run_id, version in versions.items() if known.get(run_id) != version]
        told: list[tuple[str, Answer]] = [("run", row) for row in rows_out(session, runs.by_ids(session, moved))]
        told += [("gone", GoneOut(id=run_id)) for run_id in sorted(known.keys() - versions.keys())]
        return Look(0 if before is None else before.event_id + 1, versions, tuple(told))
