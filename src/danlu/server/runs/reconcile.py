"""Ends running runs whose job or writer has ended, so that no run stays in state running forever."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from danlu.spec.runs import RunState
from danlu.spec.states import AttemptState, JobState, is_final, is_over
from danlu.store.queries import runs
from danlu.store.sql.database import Database
from danlu.store.sql.run_tables import RunRow
from danlu.store.sql.tables import AttemptRow, JobRow

SILENT_AFTER = timedelta(minutes=5)
"""A run without a job sends data at least every half minute; after this long without any it has died."""

SETTLE = timedelta(seconds=15)
"""The last data of a job's processes may arrive this long after the attempt has ended."""

_ENDS = {
    JobState.SUCCEEDED: RunState.FINISHED,
    JobState.FAILED: RunState.FAILED,
    JobState.STOPPED: RunState.STOPPED,
}


class Verdict(NamedTuple):
    state: RunState
    at: datetime


def reconcile(database: Database, now: datetime) -> int:
    """End runs that are over; return how many. A run that sends data again is reopened."""
    num_changed = 0
    with database.reading() as session:
        found = [(row.id, judge(row, job, attempt, now)) for row, job, attempt in runs.still_running(session)]
    for run_id, verdict in found:
        if verdict is None:
            continue
        with database.writing() as session:
            row = runs.get_run(session, run_id)
            if row is None or row.state != RunState.RUNNING.value or row.seen_at > verdict.at + SILENT_AFTER:
                continue
            row.state, row.ended_at = verdict.state.value, verdict.at
            row.version += 1
            num_changed += 1
    return num_changed


def judge(run: RunRow, job: JobRow | None, attempt: AttemptRow | None, now: datetime) -> Verdict | None:
    """How a run in state running has ended; None while it may still be running. Pure."""
    if run.is_own:
        if job is None:
            return Verdict(RunState.DIED, run.seen_at)
        end = _ENDS.get(JobState(job.state))
        return None if end is None else Verdict(end, job.ended_at or run.seen_at)
    if run.job_id is not None:
        is_gone = job is None or is_over(JobState(job.state))
        if is_gone or (attempt is not None and is_final(AttemptState(attempt.state))):
            ended = attempt.ended_at if attempt is not None and attempt.ended_at is not None else run.seen_at
            if now - max(ended, run.seen_at) > SETTLE:
                return Verdict(RunState.DIED, run.seen_at)
            return None
    return Verdict(RunState.DIED, run.seen_at) if now - run.seen_at > SILENT_AFTER else None
