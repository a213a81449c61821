"""Removing what nobody needs any more: logs that are old, and files of attempts that are over."""

from __future__ import annotations

import logging
from datetime import timedelta

from danlu.errors import DanluError
from danlu.scheduler.context import Parts
from danlu.spec.states import AttemptState, is_final
from danlu.store.queries import attempts
from danlu.store.upkeep.cleaning import remove_old_log

log = logging.getLogger(__name__)

BATCH = 200


def remove_old_logs(parts: Parts) -> int:
    """Remove the logs of attempts that ended more than `log_days` days ago; return how many. An event says so."""
    if parts.log_days == 0:
        return 0
    now = parts.now()
    with parts.database.reading() as session:
        old = attempts.with_logs_older_than(session, now - timedelta(days=parts.log_days), BATCH)
    for attempt in old:
        remove_old_log(parts.database, parts.logs, attempt, parts.log_days, now)
    return len(old)


def remove_leftovers(parts: Parts) -> None:
    """Remove what a server that was killed at the wrong moment left of ended attempts on their nodes."""
    for engine in parts.engines.values():
        for job_id, number in engine.leftovers():
            with parts.database.reading() as session:
                attempt = attempts.get_attempt(session, job_id, number)
            is_over = attempt is None or is_final(AttemptState(attempt.state))
            if not is_over or (attempt is not None and not attempt.is_output_complete):
                continue  # what did not reach the store is kept as long as its job is
            try:
                engine.forget(job_id, number)
            except (DanluError, OSError) as error:
                log.warning("%s attempt %s left files behind: %s", job_id, number, error)
