"""Start an attempt: store it, have the engine start it, then mark it as started.

If the server dies in between, `is_started` stays unset and the job's next owner starts the attempt again: the engine's
`start` is idempotent. The token is derived from the sealing key, so it is the same again.
"""

from __future__ import annotations

import errno
import logging
from datetime import datetime, timedelta

from sqlalchemy.exc import IntegrityError

from danlu.auth.secrets import digest
from danlu.engines.base import Credentials
from danlu.errors import DanluError, EngineUnavailable, EngineUnreachable, StorageFull
from danlu.launch import Owner, Placement, make_plan
from danlu.launch.sources import with_sources
from danlu.scheduler.context import Context
from danlu.scheduler.live import LEASE_SECONDS, LiveJob
from danlu.spec.job import JobSpec, stored_job
from danlu.spec.messages.catalogue import say
from danlu.spec.reasons import Reason, reason
from danlu.spec.roles import members
from danlu.spec.states import AttemptState, Desired, JobState, TaskState
from danlu.store.queries import attempts, jobs, nodes, people
from danlu.store.sql.tables import AttemptRow, JobRow, TaskRow

log = logging.getLogger(__name__)
START_SECONDS = 120.0
"""How long a task may take from the decision to start it until it reports."""


def begin(context: Context, job_id: str, placement: Placement, *, engine: str, notes: list[str]) -> LiveJob | None:
    """Store a new attempt and claim its devices; None when the job or a device is no longer available."""
    now = context.now()
    try:
        with context.database.writing() as session:
            job = jobs.get_job(session, job_id)
            if job is None or job.state != JobState.QUEUED.value or job.desired != Desired.RUN.value:
                return None
            if nodes.drains(session).keys() & {task.node for task in placement.tasks}:
                return None
            spec = stored_job(job.spec)
            number = job.attempt + 1
            attempt = AttemptRow(
                job_id=job_id,
                number=number,
                state=AttemptState.STARTING.value,
                reason_code="starting",
                reason_message=say("tasks_starting"),
                placement=placement.model_dump(mode="json"),
                token_digest=digest(context.sealer.token(job_id, number)),
                is_started=False,
                notes=notes,
                last_lines=[],
                started_at=now,
            )
            types = [member.group.resources.device.type for member in members(spec)]
            attempts.add_attempt(session, attempt, _task_rows(spec, job_id, number, placement), types)
            places = ", ".join(dict.fromkeys(task.node for task in placement.tasks))
            moved = jobs.move_job(
                session,
                job,
                JobState.STARTING,
                reason("starting", say("starting_on", attempt=number, places=places)),
                attempt=number,
                engine=engine,
                started_at=job.started_at or now,
                ended_at=None,
                not_before=None,
                lock_token=context.server_id,
                lock_expires_at=_lease_end(context),
            )
            if not moved:
                session.rollback()
                return None
            jobs.add_event(
                session,
                job_id,
                number,
                kind="starting",
                message=say("starts_on", attempt=number, places=places),
                at=now,
            )
    except IntegrityError:
        log.info("a device for %s was claimed in the meantime; it stays queued", job_id)
        return None
    return _reload(context, job_id, number)


def launch(context: Context, live: LiveJob) -> Reason | None:
    """Have the engine start the attempt. Return why it cannot start; None when it started or will be retried."""
    job, attempt = live.job, live.attempt
    engine = context.engines[job.engine]
    try:
        plan = make_plan(
            live.spec,
            job_id=job.id,
            attempt=attempt.number,
            placement=Placement.model_validate(attempt.placement),
            output=job.output,
            owner=_owner(context, job),
        )
        plan = with_sources(plan, job.bucket_ids or {})
        secrets = context.sealer.open(job.sealed_secrets) if job.sealed_secrets else {}
        token = context.sealer.token(job.id, attempt.number)
        engine.start(
            plan, Credentials(server_url=context.server_url, token=token, secrets=secrets, owner_id=job.owner_id)
        )
    except EngineUnavailable as error:
        age = (context.now() - attempt.started_at).total_seconds()
        if age > START_SECONDS and not isinstance(error, EngineUnreachable):
            return reason("start_timeout", error.message)
        if job.reason_message != error.message:
            log.warning("%s attempt %s: %s; retrying", job.id, attempt.number, error)
            with context.database.writing() as session:
                jobs.set_reason(session, job.id, reason("starting", error.message), state=JobState.STARTING)
        return None
    except StorageFull as error:
        return reason("disk_full", error.message)
    except DanluError as error:
        return reason("start_failed", error.message)
    except OSError as error:
        code = "disk_full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "start_failed"
        return reason(code, f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))
    with context.database.writing() as session:
        attempts.mark_started(session, job.id, attempt.number)
    return None


def _owner(context: Context, job: JobRow) -> Owner:
    with context.database.reading() as session:
        users = people.names_of_users(session, {job.owner_id})
        project = people.project_name(session, job.project_id)
        return Owner(user=users[job.owner_id], project=project, project_id=job.project_id)


def _task_rows(spec: JobSpec, job_id: str, number: int, placement: Placement) -> list[TaskRow]:
    return [
        TaskRow(
            job_id=job_id,
            attempt=number,
            rank=place.rank,
            role=member.role,
            node=place.node,
            device_ids=list(place.device_ids),
            cpus=member.group.resources.cpus or 0.0,
            memory_bytes=member.group.resources.memory or 0,
            state=TaskState.STARTING.value,
        )
        for place, member in zip(placement.tasks, members(spec), strict=True)
    ]


def _lease_end(context: Context) -> datetime:
    return context.now() + timedelta(seconds=LEASE_SECONDS)


def _reload(context: Context, job_id: str, number: int) -> LiveJob | None:
    with context.database.reading() as session:
        job: JobRow | None = jobs.get_job(session, job_id)
        attempt = attempts.get_attempt(session, job_id, number)
        tasks = attempts.tasks_by_key(session, [(job_id, number)]).get(job_id, [])
    return (
        LiveJob(job, stored_job(job.spec), attempt, tuple(tasks)) if job is not None and attempt is not None else None
    )
