"""Streams of changes of jobs: of one job, or of all that a user sees."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from danlu.server.identity import CurrentReader
from danlu.server.jobs import service
from danlu.server.jobs.followed import FollowedJobs, JobList, recent_jobs
from danlu.server.openapi import EVENTS
from danlu.server.state import State
from danlu.server.streams.follower import Follower
from danlu.server.streams.hub import Hub, Streams
from danlu.server.streams.response import Stream

router = APIRouter(tags=["jobs"])


@router.get("/changes", response_class=StreamingResponse, responses=EVENTS)
async def changes(who: CurrentReader, streams: Streams, follow: bool = False) -> Stream:
    """Server-sent events: `job` with the row of each job that changed, `gone` for one that is not there any more.

    Begins with what changed in the last seconds, and goes on for ever with `follow`.
    """
    return Stream(streams, who, _follow if follow else _once)


@router.get("/jobs/{job}/watch", response_class=StreamingResponse, responses=EVENTS)
def watch(job: str, who: CurrentReader, state: State, streams: Streams) -> Stream:
    """Server-sent events: `job` with the whole job, at once and on each change, until it is over."""
    with state.database.reading() as session:
        job_id = service.find(session, who, job).id
    return Stream(streams, who, lambda hub, follower: hub.board(FollowedJobs).tell(job_id, follower))


def _follow(hub: Hub, follower: Follower) -> AsyncGenerator[bytes, None]:
    return hub.board(JobList).tell(hub, follower)


async def _once(hub: Hub, follower: Follower) -> AsyncGenerator[bytes, None]:
    for event in await hub.read(follower, recent_jobs, hub.state, follower.who):
        yield event
