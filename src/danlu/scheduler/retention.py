"""Removing what is older than people want to keep."""

from __future__ import annotations

from datetime import timedelta

from danlu.scheduler.parts import Parts
from danlu.store import attempts, jobs

BATCH = 200


def remove_old_logs(parts: Parts) -> int:
    """Remove the logs of attempts that ended more than `log_days` days ago; return how many. An event says so."""
    if parts.log_days == 0:
        return 0
    now = parts.now()
    with parts.database.writing() as session:
        old = attempts.with_logs_older_than(session, now - timedelta(days=parts.log_days), BATCH)
        for attempt in old:
            parts.logs.remove_attempt(session, attempt.job_id, attempt.number)
            attempts.mark_without_logs(session, attempt)
            told = f"the logs of attempt {attempt.number} were removed after {parts.log_days} days"
            jobs.add_event(session, attempt.job_id, attempt.number, kind="logs_removed", message=told, at=now)
    for attempt in old:
        parts.logs.drop_files(attempt.job_id, attempt.number)
    return len(old)
