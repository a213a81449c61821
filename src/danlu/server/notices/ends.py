"""Notices about ended jobs, sent once: found in the events that the scheduler stores with each end."""

from __future__ import annotations

from sqlalchemy.orm import Session

from danlu.server.notices.mail import Told
from danlu.server.notices.telling import tell
from danlu.server.state import ServerState
from danlu.spec.monitoring.events import ENDS
from danlu.spec.states import AttemptState, JobState, is_over
from danlu.store.queries import jobs
from danlu.store.queries.monitoring import notices

KINDS = (*(state.value for state in ENDS), AttemptState.LOST.value)
AT_ONCE = 200


def find_new(session: Session, *, seen: int) -> tuple[bool, int]:
    """Whether a job has ended since the last call, and the newest event. Events up to `seen` are skipped."""
    told, newest = notices.told_up_to(session), notices.newest_event(session)
    if told is None:
        return True, newest
    after = max(told, seen)
    return newest > after and bool(notices.events_of_kinds(session, KINDS, after=after, limit=1)), newest


def tell_ends(session: Session, state: ServerState) -> int:
    """Send notices about jobs that ended since the last call, and store the position in the same transaction; return
    the number of events.

    Jobs that ended before the first call are skipped.
    """
    told = notices.told_up_to(session)
    if told is None:
        notices.set_told_up_to(session, notices.newest_event(session))
        return 0
    events = notices.events_of_kinds(session, KINDS, after=told, limit=AT_ONCE)
    if not events:
        return 0
    for event in {event.job_id: event for event in events}.values():  # of each job the last one
        job = jobs.get_job(session, event.job_id)
        if job is None or not is_over(JobState(job.state)) or job.attempt != event.attempt:
            continue  # it was retried, preempted or restarted
        kind = ENDS[JobState(job.state)]
        tell(session, state, Told(kind=kind, job=job, message=job.reason_message), data={})
    notices.set_told_up_to(session, events[-1].id)
    return len(events)
