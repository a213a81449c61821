"""Streams of changes of runs: of one run, or of a list."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from danlu.server.identity import CurrentReader
from danlu.server.openapi import EVENTS
from danlu.server.runs import service
from danlu.server.runs.followed import FollowedRuns, RunLists, listed_runs
from danlu.server.runs.wanted import WantedRuns
from danlu.server.state import State
from danlu.server.streams.follower import Follower
from danlu.server.streams.hub import Hub, Streams
from danlu.server.streams.response import Stream

router = APIRouter(prefix="/runs", tags=["runs"])


@router.get("/changes", response_class=StreamingResponse, responses=EVENTS)
def changes(who: CurrentReader, state: State, streams: Streams, wanted: WantedRuns, follow: bool = False) -> Stream:
    """Server-sent events: `run` with the row of each run that changed, `gone` for one that is not in the list any more.

    Takes what the list of runs takes. Looks at those that are running and at the newest; begins with all of these, and
    goes on for ever with `follow`.
    """
    # an invalid filter is an error, not a stream
    state.database.read(service.list_runs, wanted, before=None, limit=1)

    async def once(hub: Hub, follower: Follower) -> AsyncGenerator[bytes, None]:
        for event in await hub.read(follower, listed_runs, state, wanted):
            yield event

    return Stream(streams, who, (lambda hub, one: hub.board(RunLists).tell(hub, one, wanted)) if follow else once)


@router.get("/{run}/watch", response_class=StreamingResponse, responses=EVENTS)
def watch(run: str, who: CurrentReader, state: State, streams: Streams) -> Stream:
    """Server-sent events: `run` with the whole run, at once and when something new was ingested, until it is over."""
    with state.database.reading() as session:
        run_id = service.find(session, who, run).id
    return Stream(streams, who, lambda hub, follower: hub.board(FollowedRuns).tell(run_id, follower))
