"""Jobs over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Optional

from fastapi import APIRouter, Query
from fastapi.responses import Response

from danlu.auth.identity import UserIdentity
from danlu.server.identity import CurrentActor, CurrentReader
from danlu.server.invalid import bad_field
from danlu.server.jobs import operations, service
from danlu.server.jobs.why import why as why_out
from danlu.server.paging import Cursor, Limit, bad_cursor, number_in
from danlu.server.state import ServerState, State
from danlu.spec.fields import is_job_id
from danlu.spec.reasons import CATALOGUE
from danlu.spec.states import JobState
from danlu.wire.base import Page
from danlu.wire.jobs import (
    EventOut,
    JobOut,
    JobSummary,
    PlanJob,
    PlanOut,
    ReasonOut,
    SelectedOut,
    SelectJobs,
    SubmitJob,
)
from danlu.wire.why import WhyOut

router = APIRouter(prefix="/jobs", tags=["jobs"])
reasons_router = APIRouter(prefix="/reasons", tags=["jobs"])


@router.post("", status_code=201)
def submit(body: SubmitJob, who: CurrentActor, state: State) -> JobOut:
    """Submit a job. The same `request_id` again answers with the same job."""
    submitted = operations.submit(state, who, body)
    state.wake_scheduler(only_queue=True)
    return submitted


@router.post("/plan")
def plan(body: PlanJob, who: CurrentActor, state: State) -> PlanOut:
    """What each rank of a job would get; nothing is stored or started."""
    return operations.plan(state, who, body)


@router.post("/stop")
def stop_many(body: SelectJobs, who: CurrentActor, state: State) -> SelectedOut:
    """Stop several jobs; the answer names those that were refused, and why."""
    done = state.database.write(service.stop_many, state, who, body.jobs)
    state.wake_scheduler()
    return done


@router.post("/delete")
def delete_many(body: SelectJobs, who: CurrentActor, state: State) -> SelectedOut:
    """Delete several ended jobs; the answer names those that were refused, and why."""
    done = state.database.write(service.delete_many, state, who, body.jobs)
    for job_id in done.done:
        state.logs.drop_files(job_id)
    return done


@router.get("")
def list_jobs(
    who: CurrentReader,
    state: State,
    cursor: Cursor = None,
    limit: Limit = 100,
    job_state: Annotated[Optional[list[JobState]], Query(alias="state")] = None,
    name: Annotated[Optional[str], Query(max_length=100)] = None,
    owner: Annotated[Optional[str], Query(max_length=100)] = None,
    project: Annotated[Optional[str], Query(max_length=100)] = None,
    tag: Annotated[Optional[list[str]], Query(description="key=value", max_length=20)] = None,
    favourites: Annotated[bool, Query(description="only your favourites")] = False,
) -> Page[JobSummary]:
    """Jobs of your projects, newest first."""
    if cursor is not None and not is_job_id(cursor):
        raise bad_cursor(cursor)
    asked = service.Asked(
        states=job_state or (),
        name=name,
        owner=owner,
        project=project,
        tags=[_tag(text) for text in tag or ()],
        favourites=favourites,
    )
    return state.database.read(service.list_jobs, who, asked, before=cursor, limit=limit, now=state.now())


@router.get("/{job}")
def get(job: str, who: CurrentReader, state: State) -> JobOut:
    """A job, by id, by the beginning of an id that no other has, or by name (the newest job of that name)."""
    return state.database.read(service.get, state, who, job)


@router.delete("/{job}", status_code=204)
def delete(job: str, who: CurrentActor, state: State) -> Response:
    """Delete an ended job with its logs. Its output stays."""
    state.logs.drop_files(state.database.write(service.delete, state, who, job))
    return Response(status_code=204)


@router.post("/{job}/stop")
def stop(job: str, who: CurrentActor, state: State) -> JobOut:
    """Stop a job: SIGTERM, then SIGKILL after its grace."""
    return _change(state, service.stop, who, job)


@router.post("/{job}/pause")
def pause(job: str, who: CurrentActor, state: State) -> JobOut:
    """Stop the attempt and free its devices, until the job is resumed."""
    return _change(state, service.pause, who, job)


@router.post("/{job}/resume")
def resume(job: str, who: CurrentActor, state: State) -> JobOut:
    """Queue a paused job again."""
    return _change(state, service.resume, who, job)


@router.post("/{job}/start")
def start(job: str, who: CurrentActor, state: State) -> JobOut:
    """Queue an ended job again, as a new attempt."""
    return _change(state, service.start_again, who, job)


@router.get("/{job}/why")
def why(job: str, who: CurrentReader, state: State) -> WhyOut:
    """What is missing, who is ahead, which limit holds it, when there is room, and what would let it start."""
    with state.database.reading() as session:
        return why_out(session, service.find(session, who, job), known=state.nodes, now=state.now())


@router.get("/{job}/events")
def events(job: str, who: CurrentReader, state: State, cursor: Cursor = None, limit: Limit = 200) -> Page[EventOut]:
    """What happened to a job, oldest first."""
    return state.database.read(service.list_events, who, job, after=number_in(cursor) or 0, limit=limit)


def _change(state: ServerState, change: Callable[..., JobOut], who: UserIdentity, job: str) -> JobOut:
    """Write an intent, and have the scheduler look at it at once."""
    changed = state.database.write(change, state, who, job)
    state.wake_scheduler()
    return changed


@reasons_router.get("")
def list_reasons(_who: CurrentReader) -> Page[ReasonOut]:
    """The catalogue: why jobs wait and why they end, whose fault it is, and what to do."""
    return Page(items=[ReasonOut(code=code, **entry._asdict()) for code, entry in CATALOGUE.items()])


def _tag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key or any(ord(char) < 32 for char in text):
        raise bad_field("tag", f"expected key=value, got {text!r}")
    return key, value
