"""The rules of jobs. No HTTP, no SQL, no commit: the caller owns the transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import Conflict, DanluError, NotAllowed, NotFound, WrongState
from danlu.launch import Owner, explain
from danlu.launch.sources import with_sources
from danlu.server import catalog
from danlu.server.audit.service import record_action
from danlu.server.flow import recording as flow
from danlu.server.ids import ID_CHARS, new_job_id
from danlu.server.invalid import bad_field
from danlu.server.jobs.access import access_notes, check_job_access
from danlu.server.jobs.checks import Access, check_access, check_access_again, output_folder, project_of
from danlu.server.jobs.devices import understood
from danlu.server.jobs.inputs import find_inputs
from danlu.server.jobs.planning import check_network, try_plan
from danlu.server.jobs.view import event_out, job_out, plan_out, rows_out, stored_spec
from danlu.server.objects.located import Located
from danlu.server.paging import cut, page_of
from danlu.server.scope import find_project, visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.fields import is_job_id
from danlu.spec.job import JobAccess, JobSpec, parse_job, stored_job
from danlu.spec.messages.catalogue import recognise_failure, say
from danlu.spec.reasons import reason
from danlu.spec.states import Desired, JobState, is_over
from danlu.spec.terms import Terms
from danlu.store.queries import jobs, people
from danlu.store.queries.gateway import endpoints
from danlu.store.sql.tables import JobRow
from danlu.wire.base import Page
from danlu.wire.jobs import EventOut, JobOut, JobSummary, PlanOut, SelectedOut

MAX_SHOWN = 5
NO_USER = 0
"""The id of no user: ids begin with 1."""

MAX_NAMES = 100
"""Most names of jobs that one request stops or deletes. Ids do not count."""

_ACTIONS = {Desired.STOP: Action.JOB_STOP, Desired.PAUSE: Action.JOB_PAUSE, Desired.RUN: Action.JOB_RESUME}


@dataclass(frozen=True)
class Checked:
    """A job that may be stored."""

    spec: JobSpec
    project_id: int
    project: str
    access: Access
    terms: Terms | None
    """The price of the job's flavors, and its framework, as of submission."""


def check(session: Session, state: ServerState, who: UserIdentity, values: dict[str, Any]) -> Checked:
    """Reject what cannot work, before anything is stored."""
    spec, terms = catalog.settled(session, understood(session, parse_job(values), state.nodes), state.settings.currency)
    project_id = project_of(session, who, spec)
    project = people.project_name(session, project_id)
    access = check_access(session, who, spec, project_id=project_id)
    check_job_access(who, spec)
    check_network(spec, allows_host=state.settings.host_network)
    owner = Owner(user=who.name, project=project, project_id=project_id)
    try_plan(session, spec, state.nodes, output=access.output, owner=owner, now=state.now())
    return Checked(spec, project_id, project, access, terms)


def submit(
    session: Session, state: ServerState, who: UserIdentity, job: Checked, request_id: str | None = None
) -> JobRow:
    """Store a checked job. The same request_id a second time returns the first job."""
    before = jobs.by_request_id(session, who.user_id, request_id) if request_id is not None else None
    if before is not None:
        return before
    spec, now = job.spec, state.now()
    job_id = new_job_id(now)
    row = JobRow(
        id=job_id,
        project_id=job.project_id,
        owner_id=who.user_id,
        request_id=request_id,
        name=spec.name,
        engine=state.settings.engines[0],
        spec=stored_spec(spec),
        terms=None if job.terms is None else job.terms.model_dump(mode="json"),
        sealed_secrets=state.sealer.seal(spec.secrets) if spec.secrets else None,
        output=f"{job.access.output}{job_id}/",
        bucket_ids=job.access.stood_for,
        state=JobState.QUEUED.value,
        desired=Desired.RUN.value,
        reason_code="submitted",
        reason_message=reason("submitted").message,
        priority=spec.priority,
        attempt=0,
        num_retries=0,
        created_at=now,
        queued_at=now,
        version=0,
    )
    jobs.add_job(session, row)
    for name in spec.endpoints:
        endpoints.put_endpoint(session, job_id, name, is_shared=False, at=now)
    jobs.add_event(session, job_id, 0, kind="submitted", message=say("submitted_by", who=_told(who)), at=now)
    flow.job_submitted(session, row, now, spec)
    _record(session, state, who, Action.JOB_SUBMIT, row)
    return row


def plan(
    session: Session, state: ServerState, who: UserIdentity, values: dict[str, Any], is_explained: bool = False
) -> tuple[PlanOut, Sequence[Located]]:
    """Return what would be started; nothing is stored. A local code folder need not be uploaded for it.

    Also return the inputs in the store, which must exist.
    """
    spec, terms = catalog.settled(session, understood(session, parse_job(values), state.nodes), state.settings.currency)
    project_id = project_of(session, who, spec)
    check_job_access(who, spec)
    check_network(spec, allows_host=state.settings.host_network)
    output = output_folder(session, spec, project_id)
    inputs = find_inputs(session, who, spec, project_id=project_id)
    owner = Owner(user=who.name, project=people.project_name(session, project_id), project_id=project_id)
    made, notes = try_plan(session, spec, state.nodes, output=output, owner=owner, now=state.now())
    made = with_sources(made, inputs.stood_for)
    if spec.secrets:
        notes.append(f"set in the job, but not shown: {', '.join(sorted(spec.secrets))}")
    notes += access_notes(who, spec, owner.project)
    return plan_out(made, notes, explain(spec, made) if is_explained else None, terms), inputs.places


@dataclass(frozen=True)
class Asked:
    """Which jobs to list."""

    states: Sequence[JobState] = ()
    name: str | None = None
    owner: str | None = None
    project: str | None = None
    tags: Sequence[tuple[str, str]] = ()
    favourites: bool = False


def list_jobs(
    session: Session, who: UserIdentity, asked: Asked, *, before: str | None, limit: int, now: datetime
) -> Page[JobSummary]:
    """Newest first, among visible jobs. Raise NotFound for an unknown project."""
    wanted = jobs.JobFilter(
        project_ids=visible_project_ids(who)
        if asked.project is None
        else [find_project(session, who, asked.project).id],
        states=asked.states,
        name=asked.name,
        owner_id=None if asked.owner is None else _owner_id(session, who, asked.owner),
        tags=asked.tags,
        favourite_of=who.user_id if asked.favourites else None,
    )
    rows, after = cut(jobs.list_shown(session, wanted, before=before, limit=limit + 1), limit, lambda row: row.id)
    return Page(items=rows_out(session, rows, now), next=after)


def _owner_id(session: Session, who: UserIdentity, name: str) -> int:
    """Only admins get an error for an unknown user: others could find out which names exist."""
    user = people.user_by_name(session, name)
    if user is None and who.is_admin:
        raise NotFound(f"no user {name!r}")
    return NO_USER if user is None else user.id


def get(session: Session, state: ServerState, who: UserIdentity, job: str) -> JobOut:
    return job_out(session, find(session, who, job), state.now())


def list_events(session: Session, who: UserIdentity, job: str, *, after: int, limit: int) -> Page[EventOut]:
    found = jobs.list_events(session, find(session, who, job).id, after=after, limit=limit + 1)
    return page_of([event_out(event) for event in found], limit, lambda event: str(event.id))


def find(session: Session, who: UserIdentity, name_or_id: str) -> JobRow:
    """The visible job with this id, or the only one whose id begins with it, or the newest with this name."""
    if is_job_id(name_or_id):
        found = jobs.get_job(session, name_or_id)
        return _by_prefix(session, who, name_or_id) if found is None else _visible(who, name_or_id, found)
    row = jobs.newest_by_name(session, name_or_id, visible_project_ids(who))
    if row is None:
        raise NotFound(f"no job named {name_or_id!r}; `danlu ps -a` lists them")
    return row


def _by_prefix(session: Session, who: UserIdentity, prefix: str) -> JobRow:
    """The only job whose id begins with this prefix. Raise NotFound, and Conflict for several."""
    found = jobs.by_prefix(session, prefix, visible_project_ids(who), limit=MAX_SHOWN + 1)
    if not found:
        raise NotFound(f"no job {prefix!r}; `danlu ps -a` lists them")
    if len(found) > 1:
        raise Conflict(f"several jobs have ids that begin with {prefix!r}: {_ids(found)}; give more of it")
    return found[0]


def find_to_change(session: Session, who: UserIdentity, name_or_id: str, *, is_live_first: bool = False) -> JobRow:
    """With `is_live_first`, prefer the active job with this name, if there is one. Raise Conflict for several."""
    row = find(session, who, name_or_id)
    if is_live_first and not is_job_id(name_or_id):
        row = _only_open(session, who, name_or_id) or row
    return _changeable(who, row)


def stop(session: Session, state: ServerState, who: UserIdentity, job: str) -> JobOut:
    """Request that the job be stopped. Does nothing if it is over."""
    row = find_to_change(session, who, job, is_live_first=True)
    if not is_over(JobState(row.state)):
        _want(session, state, who, row, Desired.STOP)
    return job_out(session, row, state.now())


def pause(session: Session, state: ServerState, who: UserIdentity, job: str) -> JobOut:
    """Request that the job be paused; its next attempt continues with the same output."""
    row = find_to_change(session, who, job, is_live_first=True)
    if is_over(JobState(row.state)):
        raise WrongState(f"{row.id} is {row.state}; only an active job can be paused")
    _want(session, state, who, row, Desired.PAUSE)
    return job_out(session, row, state.now())


def resume(session: Session, state: ServerState, who: UserIdentity, job: str) -> JobOut:
    row = find_to_change(session, who, job, is_live_first=True)
    if row.desired != Desired.PAUSE.value or is_over(JobState(row.state)):
        raise WrongState(f"{row.id} is {row.state} and not paused; `danlu start` runs an ended job again")
    _check_access(session, state, who, row=row)
    _want(session, state, who, row, Desired.RUN)
    return job_out(session, row, state.now())


def start_again(session: Session, state: ServerState, who: UserIdentity, job: str) -> JobOut:
    """Restart an ended job: same id, same output, new attempt."""
    row = find_to_change(session, who, job)
    if not is_over(JobState(row.state)):
        raise WrongState(f"{row.id} is {row.state}; only a job that has ended can be started again")
    _check_access(session, state, who, row=row)
    now = state.now()
    moved = jobs.move_job(
        session,
        row,
        JobState.QUEUED,
        reason("submitted"),
        desired=Desired.RUN.value,
        queued_at=now,
        ended_at=None,
        not_before=None,
        num_retries=0,
    )
    if not moved:
        raise WrongState(f"{row.id} was changed by another request; check its state and try again")
    jobs.add_event(session, row.id, row.attempt, kind="submitted", message=say("restarted_by", who=_told(who)), at=now)
    _record(session, state, who, Action.JOB_START, row)
    jobs.reload(session, row)
    return job_out(session, row, state.now())


def stop_many(session: Session, state: ServerState, who: UserIdentity, wanted: Sequence[str]) -> SelectedOut:
    """Request that many jobs be stopped, in one operation."""
    rows, refused = _select(session, who, wanted, is_live_first=True)
    open_rows = [row for row in rows if not is_over(JobState(row.state))]
    jobs.set_desired(session, [row.id for row in open_rows], Desired.STOP)
    now = state.now()
    for row in open_rows:
        jobs.add_event(session, row.id, row.attempt, kind="stop", message=say("stop_asked_by", who=_told(who)), at=now)
        _record(session, state, who, Action.JOB_STOP, row)
    return _selected(rows, refused)


def delete_many(session: Session, state: ServerState, who: UserIdentity, wanted: Sequence[str]) -> SelectedOut:
    """Delete jobs that are over, with their logs and events. Their output stays in the store."""
    rows, refused = _select(session, who, wanted)
    over = [row for row in rows if is_over(JobState(row.state))]
    refused.update({row.id: _still_there(row) for row in rows if not is_over(JobState(row.state))})
    for row in over:
        state.logs.delete_job(session, row.id)
        _record(session, state, who, Action.JOB_DELETE, row)
    flow.jobs_deleted(session, [row.id for row in over], state.now())
    jobs.delete_jobs(session, [row.id for row in over])
    return _selected(over, refused)


def delete(session: Session, state: ServerState, who: UserIdentity, job: str) -> str:
    """Delete one job; return its id. Raise WrongState when it is not over."""
    row = find_to_change(session, who, job)
    if not is_over(JobState(row.state)):
        raise WrongState(_still_there(row))
    delete_many(session, state, who, [row.id])
    return row.id


def _check_access(session: Session, state: ServerState, who: UserIdentity, *, row: JobRow) -> None:
    """Check access again: inputs and output may have been moved or replaced since the job was submitted."""
    spec = stored_job(row.spec)
    check_job_access(who, spec)
    check_network(spec, allows_host=state.settings.host_network)
    jobs.set_bucket_ids(session, row, check_access_again(session, who, spec, row).stood_for)


def _still_there(row: JobRow) -> str:
    return f"{row.id} is {row.state}; stop it first: danlu stop {row.id}"


def _want(session: Session, state: ServerState, who: UserIdentity, row: JobRow, desired: Desired) -> None:
    if row.desired == desired.value:
        return
    jobs.set_desired(session, [row.id], desired)
    told = {Desired.STOP: "stop", Desired.PAUSE: "pause", Desired.RUN: "resume"}[desired]
    message = say(f"{told}_asked_by", who=_told(who))
    jobs.add_event(session, row.id, row.attempt, kind=told, message=message, at=state.now())
    _record(session, state, who, _ACTIONS[desired], row)
    jobs.reload(session, row)


def _record(session: Session, state: ServerState, who: UserIdentity, action: Action, row: JobRow) -> None:
    asked = row.spec.get("access", JobAccess.OWN.value)
    access = None if asked == JobAccess.OWN.value else str(asked)
    thing, at = f"job/{row.id}", state.now()
    record_action(session, who, action, thing, at=at, project_id=row.project_id, name=row.name, access=access)


def _told(who: UserIdentity) -> str:
    return who.name if who.job is None else f"{who.job.job_id}, a job of {who.name}"


def _only_open(session: Session, who: UserIdentity, name: str) -> JobRow | None:
    """The active job with this name; None when there is none. Raise Conflict for several."""
    states = [state for state in JobState if not is_over(state)]
    of_name = jobs.JobFilter(project_ids=visible_project_ids(who), states=states, name=name, tags=())
    found = jobs.list_jobs(session, of_name, before=None, limit=MAX_SHOWN + 1)
    if len(found) > 1:
        raise Conflict(f"several jobs named {name!r} have not ended: {_ids(found)}; give an id")
    return found[0] if found else None


def _visible(who: UserIdentity, job_id: str, row: JobRow | None) -> JobRow:
    if row is None or not rights.can_see_project(who, row.project_id):
        raise NotFound(f"no job {job_id!r}; `danlu ps -a` lists them")
    return row


def _changeable(who: UserIdentity, row: JobRow) -> JobRow:
    if not rights.can_change_job(who, project_id=row.project_id, owner_id=row.owner_id):
        raise NotAllowed(f"you may not change {row.id}; ask its owner or an owner of its project")
    return row


def _ids(rows: Sequence[JobRow]) -> str:
    return ", ".join(row.id for row in rows[:MAX_SHOWN]) + (", ..." if len(rows) > MAX_SHOWN else "")


def _select(
    session: Session, who: UserIdentity, wanted: Sequence[str], *, is_live_first: bool = False
) -> tuple[list[JobRow], dict[str, str]]:
    """The named jobs, each once, and for each other name why it was rejected."""
    ids = {name for name in wanted if is_job_id(name) and len(name) == ID_CHARS}
    num_names = sum(name not in ids for name in wanted)
    if num_names > MAX_NAMES:  # each costs a query
        raise bad_field("jobs", f"expected at most {MAX_NAMES} names, and ids; got {num_names} names")
    by_id = jobs.jobs_by_id(session, list(ids))
    rows: dict[str, JobRow] = {}
    refused: dict[str, str] = {}
    for name in wanted:
        try:
            if name in ids:
                row = _changeable(who, _visible(who, name, by_id.get(name)))
            else:
                row = find_to_change(session, who, name, is_live_first=is_live_first)
            rows[row.id] = row
        except DanluError as error:
            refused[name] = error.message
    return list(rows.values()), refused


def _selected(rows: Sequence[JobRow], refused: Mapping[str, str]) -> SelectedOut:
    said = {name: recognise_failure(why) for name, why in refused.items()}
    return SelectedOut(done=[row.id for row in rows], refused=dict(refused), refused_said=said)
