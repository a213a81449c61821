"""Preempt a job: it is stopped with its grace period and queued again."""

from __future__ import annotations

from danlu.scheduler.context import Context
from danlu.scheduler.policy.snapshot import Evict
from danlu.spec.job import stored_job
from danlu.spec.messages.catalogue import say
from danlu.spec.reasons import reason
from danlu.spec.states import AttemptState, Desired, JobState
from danlu.spec.units import show_duration
from danlu.store.queries import attempts, jobs

_CAN_STOP = {AttemptState.STARTING.value, AttemptState.RUNNING.value}


def preempt(context: Context, action: Evict) -> bool:
    """Store that a job must stop for another one; False when it ended or was stopped in the meantime."""
    now = context.now()
    with context.database.writing() as session:
        job = jobs.get_job(session, action.job_id)
        attempt = attempts.get_attempt(session, job.id, job.attempt) if job is not None else None
        if job is None or attempt is None or job.desired != Desired.RUN.value or attempt.state not in _CAN_STOP:
            return False
        cause = reason("preempted", action.drained or say("preempted_for", who=_preemptor(action)))
        told = say("ending", inner=cause.message, time=show_duration(stored_job(job.spec).grace))
        if not attempts.move_attempt(session, attempt, AttemptState.STOPPING, cause):
            return False
        if not jobs.move_job(session, job, JobState.STOPPING, reason("stopping", told)):
            session.rollback()
            return False
        jobs.add_event(session, job.id, attempt.number, kind="preempted", message=told, at=now)
        asking = jobs.get_job(session, action.for_job) if action.for_job else None
        if asking is not None:
            victim = job.id if action.is_same_project else "a preemptible job of another project"
            jobs.add_event(
                session,
                asking.id,
                asking.attempt,
                kind="making_room",
                message=say("preempted_for_it", victim=victim),
                at=now,
            )
    return True


def _preemptor(action: Evict) -> str:
    """The job that preempts; jobs of other projects are not named."""
    return action.for_job if action.is_same_project else "a job of another project"
