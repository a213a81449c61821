"""Reconcile a live attempt with what the engine observed: task states, logs, reasons to stop, the end."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from sqlalchemy.orm import Session

from danlu.engines.base import Observation
from danlu.scheduler.collect_logs import LogCopier
from danlu.scheduler.collect_usage import collect_usage
from danlu.scheduler.context import Context
from danlu.scheduler.live import LiveJob
from danlu.scheduler.mpi_failure import mpi_failure
from danlu.scheduler.starting import START_SECONDS
from danlu.scheduler.verdict import (
    PREEMPTED,
    Failure,
    Seen,
    end_of,
    finished,
    first_failure,
    is_met,
    progress,
    retry_after,
)
from danlu.spec.messages.catalogue import say
from danlu.spec.reasons import Reason, reason
from danlu.spec.roles import MPI_MODES, success_rule
from danlu.spec.states import AttemptState, Desired, JobState, TaskState, task_ended
from danlu.spec.units import show_duration
from danlu.store.queries import attempts, jobs
from danlu.store.sql.tables import JobRow, TaskRow

LAST_LINES, LAST_BYTES = 20, 64 << 10


def is_unchanged(live: LiveJob, seen: Sequence[Observation | None]) -> bool:
    """Whether the database already has what the engine observed."""
    return all(
        now is not None and row.state == now.state.value and row.log_bytes >= now.log_bytes
        for row, now in zip(live.tasks, seen, strict=True)
    )


def reconcile(context: Context, copier: LogCopier, live: LiveJob, seen: Sequence[Observation | None]) -> bool:
    """Store what the engine observed, and act on it. Return whether the attempt ended."""
    has_roles = len({task.role for task in live.tasks}) > 1
    tasks = [
        Seen(task.rank, now, task.role if has_roles else "")
        for task, now in zip(live.tasks, seen, strict=True)
        if now is not None
    ]
    if len(tasks) < len(live.tasks):
        _reconcile_reachable(context, live, tasks)
        return False
    complete = _store_tasks(context, copier, live, tasks)
    all_ended = all(task_ended(task.now.state) for task in tasks)
    if all_ended and complete:
        _end(context, live, tasks)
        return True
    cause = None if live.attempt.state == AttemptState.STOPPING.value else stop_cause(context.now(), live, tasks)
    if cause is not None and not all_ended:
        _set_stopping(context, live, cause, first_failure(tasks, success_rule(live.spec)))
    elif progress(tasks) is AttemptState.RUNNING and not all_ended:
        _set_running(context, live)
    elif live.job.reason_code == "unreachable":
        why = reason("starting", say("reachable_starting"))
        with context.database.writing() as session:
            _move(session, context, live, JobState(live.job.state), why, kind="starting")
    return False


def _reconcile_reachable(context: Context, live: LiveJob, tasks: Sequence[Seen]) -> None:
    """Reconcile while some nodes are unreachable: do not end the attempt, but stop the reachable tasks if necessary."""
    rule = success_rule(live.spec)
    failure = first_failure(tasks, rule)
    is_wanted = live.job.desired == Desired.RUN.value and failure is None and not is_met(tasks, rule)
    cause = (
        None
        if is_wanted or live.attempt.state == AttemptState.STOPPING.value
        else stop_cause(context.now(), live, tasks)
    )
    if cause is not None:
        _set_stopping(context, live, cause, failure)
    else:
        _set_unreachable(context, live, answered={task.rank for task in tasks})


def stop_cause(now: datetime, live: LiveJob, tasks: Sequence[Seen]) -> Reason | None:
    """Why a live attempt must stop now; None when it may continue."""
    rule = success_rule(live.spec)
    if is_met(tasks, rule):
        return reason("finishing", finished(rule))
    failure = first_failure(tasks, rule)
    if failure is not None:
        return failure.why
    if live.job.desired != Desired.RUN.value:
        return _unwanted(live)
    limit = live.spec.max_duration
    begun = min((task.now.started_at for task in tasks if task.now.started_at is not None), default=None)
    # uploading output after the command has ended does not count against max_duration
    is_at_work = any(task.now.ended_at is None for task in tasks)
    if limit is not None and begun is not None and is_at_work and now.timestamp() - begun > limit:
        return reason("max_duration", say("ran_too_long", time_limit=show_duration(limit)))
    late = (now - live.attempt.started_at).total_seconds() > START_SECONDS
    silent = [task.rank for task in tasks if task.now.state is TaskState.STARTING]
    if late and silent:
        return reason("start_timeout", say("start_too_slow", rank=silent[0], time=show_duration(START_SECONDS)))
    return None


def _unwanted(live: LiveJob) -> Reason:
    if live.job.desired != Desired.STOP.value:
        return reason("paused")
    # the idle limit requests a stop like a user, and stores its reason in the job
    is_idle = live.job.reason_code == "idle_limit"
    return reason("idle_limit", live.job.reason_message) if is_idle else reason("stopped_by_user")


def end_unstarted(context: Context, live: LiveJob, why: Reason, state: AttemptState = AttemptState.FAILED) -> None:
    """End an attempt that the engine could not start, or that was stopped before it started."""
    with context.database.writing() as session:
        job = jobs.get_job(session, live.job.id)
        if job is None:
            return
        if attempts.end_attempt(session, live.attempt, state, why, at=_not_before(live, context.now())):
            for task in live.tasks:
                attempts.change_task(session, task, state=TaskState(state.value).value, reason_code=why.code)
            _settle(session, context, job, live, state, why, exit_code=None)


def set_waiting_for_disk(context: Context, live: LiveJob, why: Reason) -> None:
    """Store that an attempt cannot start because a disk is full. Idempotent."""
    if live.job.reason_code != why.code:
        with context.database.writing() as session:
            _move(session, context, live, JobState(live.job.state), why, kind="starting")


def _store_tasks(context: Context, copier: LogCopier, live: LiveJob, tasks: Sequence[Seen]) -> bool:
    """Store logs, then states. Return whether every log is stored to its end."""
    engine = context.engines[live.job.engine]
    complete = True
    for handle, row, task in zip(live.handles, live.tasks, tasks, strict=True):
        if task_ended(TaskState(row.state)) and row.log_bytes >= task.now.log_bytes:
            continue
        stored = copier.copy(engine, handle, row, task.now)
        caught_up = stored >= task.now.log_bytes
        if caught_up and task_ended(task.now.state):
            collect_usage(context.usage, engine, handle)  # before the end is stored: its files are removed after that
        complete = complete and caught_up
        # store the end only once the whole log is stored
        changes = _changes(row, task.now) if caught_up or not task_ended(task.now.state) else {}
        if changes:
            with context.database.writing() as session:
                attempts.change_task(session, row, **changes)
    return complete


def _changes(row: TaskRow, now: Observation) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "state": now.state.value,
        "exit_code": now.exit_code,
        "reason_code": now.reason,
        "reason_message": now.message,
        "started_at": _moment(now.started_at),
        "ended_at": _moment(now.ended_at) if task_ended(now.state) else None,
    }
    if wanted["started_at"] and wanted["ended_at"]:  # the clock may have been set back in between
        wanted["ended_at"] = max(wanted["started_at"], wanted["ended_at"])
    return {name: value for name, value in wanted.items() if getattr(row, name) != value}


def _not_before(live: LiveJob, now: datetime) -> datetime:
    """End time of an attempt that ends now: never before its start, even if the clock was set back."""
    return max(now, live.attempt.started_at)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)


def _set_unreachable(context: Context, live: LiveJob, *, answered: Collection[int]) -> None:
    nodes = ", ".join(dict.fromkeys(task.node for task in live.tasks if task.rank not in answered))
    why = reason("unreachable", say("no_answer", nodes=nodes))
    if (live.job.reason_code, live.job.reason_message) == (why.code, why.message):
        return
    with context.database.writing() as session:
        _move(session, context, live, JobState(live.job.state), why, kind="unreachable")


def _set_running(context: Context, live: LiveJob) -> None:
    is_new = JobState.STARTING.value in (live.attempt.state, live.job.state)
    if live.attempt.state == AttemptState.STOPPING.value or not (is_new or live.job.reason_code == "unreachable"):
        return
    runs = say("runs_on_one") if len(live.tasks) == 1 else say("runs_on", count=len(live.tasks))
    told = runs if is_new else say("reachable_again")
    with context.database.writing() as session:
        attempts.move_attempt(session, live.attempt, AttemptState.RUNNING, reason("running"))
        _move(session, context, live, JobState.RUNNING, reason("running", told), kind="running")


def _set_stopping(context: Context, live: LiveJob, cause: Reason, failure: Failure | None) -> None:
    told = say("ending", inner=cause.message, time=show_duration(live.spec.grace))
    why = reason("finishing" if cause.code == "finishing" else "stopping", told)
    with context.database.writing() as session:
        attempts.move_attempt(
            session,
            live.attempt,
            AttemptState.STOPPING,
            cause,
            first_failed_rank=failure.rank if failure is not None else None,
        )
        _move(session, context, live, JobState.STOPPING, why, kind="stopping")


def _move(session: Session, context: Context, live: LiveJob, state: JobState, why: Reason, *, kind: str) -> None:
    """Change the state of the job, in one transaction with its attempt: a kill leaves both or neither changed."""
    job = jobs.get_job(session, live.job.id)
    if job is not None and jobs.move_job(session, job, state, why):
        jobs.add_event(session, job.id, live.attempt.number, kind=kind, message=why.message, at=context.now())


def _end(context: Context, live: LiveJob, tasks: Sequence[Seen]) -> None:
    was_stopping = live.attempt.state == AttemptState.STOPPING.value
    cause = Reason(code=live.attempt.reason_code, message=live.attempt.reason_message) if was_stopping else None
    rule = success_rule(live.spec)
    state, why = end_of(tasks, cause, rule)
    failure = first_failure(tasks, rule)
    failed_rank = live.attempt.first_failed_rank
    if failed_rank is None and failure is not None and state is not AttemptState.STOPPED:
        failed_rank = failure.rank
    exit_code = next((task.now.exit_code for task in tasks if task.rank == failed_rank), None)
    last_lines = _last_lines(context, live, failed_rank) if failed_rank is not None else []
    mpi_cause = mpi_failure(last_lines) if live.spec.launch in MPI_MODES else ""
    if mpi_cause:
        why = reason(why.code, f"{why.message}: {mpi_cause}")
    with context.database.writing() as session:
        job = jobs.get_job(session, live.job.id)
        ended = job is not None and attempts.end_attempt(
            session,
            live.attempt,
            state,
            why,
            at=_not_before(live, context.now()),
            first_failed_rank=failed_rank,
            last_lines=last_lines,
            is_output_complete=all(task.now.is_output_complete for task in tasks),
        )
        if ended and job is not None:
            for task in tasks:
                if not task.now.is_output_complete:
                    told = f"rank {task.rank}: {task.now.message}"
                    jobs.add_event(
                        session, job.id, live.attempt.number, kind="output_incomplete", message=told, at=context.now()
                    )
            _settle(session, context, job, live, state, why, exit_code=exit_code)


def _settle(
    session: Session,
    context: Context,
    job: JobRow,
    live: LiveJob,
    state: AttemptState,
    why: Reason,
    *,
    exit_code: int | None,
) -> None:
    """Apply the end of an attempt to its job: done, queued again, paused, stopped or failed."""
    now, number = context.now(), live.attempt.number
    ended_at = max(_not_before(live, now), job.started_at or now)
    pause = retry_after(live.spec, why, exit_code=exit_code, num_retries=job.num_retries)
    wants_run = job.desired == Desired.RUN.value
    jobs.add_event(session, job.id, number, kind=state.value, message=why.message, at=now)
    if state is AttemptState.SUCCEEDED:
        jobs.move_job(session, job, JobState.SUCCEEDED, why, ended_at=ended_at)
    elif state is AttemptState.STOPPED and wants_run and why.code == PREEMPTED:
        # queued_at stays: the job keeps its position in the queue
        told = say("again_when_free", inner=why.message)
        jobs.move_job(session, job, JobState.QUEUED, reason(PREEMPTED, told))
        jobs.add_event(session, job.id, number, kind="queued", message=told, at=now)
    elif state is AttemptState.STOPPED and wants_run:
        # it was resumed or restarted while it was stopping
        jobs.move_job(session, job, JobState.QUEUED, reason("submitted"), queued_at=now)
    elif state is AttemptState.STOPPED and job.desired == Desired.PAUSE.value:
        jobs.move_job(session, job, JobState.PAUSED, reason("paused"), ended_at=ended_at)
    elif state is AttemptState.STOPPED:
        end = reason("stopped_by_user") if why.code == PREEMPTED else why
        jobs.move_job(session, job, JobState.STOPPED, end, ended_at=ended_at)
    elif wants_run and pause is not None:
        retry, most = job.num_retries + 1, live.spec.retry.max
        told = say("retry_in", inner=why.message, time=show_duration(pause), number=retry, most=most)
        jobs.move_job(
            session,
            job,
            JobState.QUEUED,
            reason("retry_wait", told),
            num_retries=retry,
            not_before=now + timedelta(seconds=pause),
            queued_at=now,
        )
        jobs.add_event(session, job.id, number, kind="retry", message=told, at=now)
    else:
        jobs.move_job(session, job, JobState.FAILED, why, ended_at=ended_at)


def _last_lines(context: Context, live: LiveJob, rank: int) -> list[str]:
    job_id, number = live.job.id, live.attempt.number
    with context.database.reading() as session:
        end = next(
            task.log_bytes for task in attempts.tasks_of(session, job_id) if (task.attempt, task.rank) == (number, rank)
        )
    start = context.logs.tail_offset(job_id, number, rank, LAST_LINES, end, most_bytes=LAST_BYTES)
    text = b"".join(context.logs.read_until(job_id, number, rank, start, end)).decode(errors="replace")
    lines = text.removesuffix("\n").split("\n")
    # a progress bar overwrites its line: show its last state
    return [line.rstrip("\r").rpartition("\r")[2][:1000] for line in lines[-LAST_LINES:]]
