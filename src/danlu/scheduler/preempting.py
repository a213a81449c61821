"""Telling a preemptible job to make room. It has the signal and the grace of any stop, and is queued again then."""

from __future__ import annotations

from danlu.scheduler.context import Parts
from danlu.scheduler.policy.snapshot import Evict
from danlu.spec.job import stored_job
from danlu.spec.reasons import reason
from danlu.spec.states import AttemptState, Desired, JobState
from danlu.spec.units import show_duration
from danlu.store.queries import attempts, jobs

_CAN_STOP = {AttemptState.STARTING.value, AttemptState.RUNNING.value}


def preempt(parts: Parts, action: Evict) -> bool:
    """Note that a job has to make room; False when it ended, or was told to stop, in the meantime."""
    now = parts.now()
    with parts.database.writing() as session:
        job = jobs.get_job(session, action.job_id)
        attempt = attempts.get_attempt(session, job.id, job.attempt) if job is not None else None
        if job is None or attempt is None or job.desired != Desired.RUN.value or attempt.state not in _CAN_STOP:
            return False
        cause = reason("preempted", action.drained or f"makes room for {_whom(action)}")
        told = f"{cause.message}; every process has {show_duration(stored_job(job.spec).grace)} to end"
        if not attempts.move_attempt(session, attempt, AttemptState.STOPPING, cause):
            return False
        if not jobs.move_job(session, job, JobState.STOPPING, reason("stopping", told)):
            session.rollback()
            return False
        jobs.add_event(session, job.id, attempt.number, kind="preempted", message=told, at=now)
        asking = jobs.get_job(session, action.for_job) if action.for_job else None
        if asking is not None:
            whom = job.id if action.is_same_project else "a preemptible job of another project"
            jobs.add_event(
                session, asking.id, asking.attempt, kind="making_room", message=f"{whom} makes room for it", at=now
            )
    return True


def _whom(action: Evict) -> str:
    """Nobody hears of the jobs of other projects by name."""
    return action.for_job if action.is_same_project else "a job of another project"
