"""Remove old logs, and files of ended attempts on nodes."""

from __future__ import annotations

import logging
from datetime import timedelta

from danlu.engines.base import Engine
from danlu.errors import DanluError
from danlu.scheduler.context import Context
from danlu.spec.states import AttemptState, is_final
from danlu.store.queries import attempts
from danlu.store.upkeep.cleaning import remove_old_log

log = logging.getLogger(__name__)

BATCH = 200


def remove_old_logs(context: Context) -> int:
    """Remove the logs of attempts that ended more than `log_days` days ago, with an event for each; return how many."""
    if context.log_days == 0:
        return 0
    now = context.now()
    with context.database.reading() as session:
        old = attempts.with_logs_older_than(session, now - timedelta(days=context.log_days), BATCH)
    for attempt in old:
        remove_old_log(context.database, context.logs, attempt, context.log_days, now)
    return len(old)


def remove_leftovers(context: Context) -> None:
    """Remove files of ended attempts that a killed server left on nodes."""
    for engine in context.engines.values():
        for job_id, number in engine.leftovers():
            with context.database.reading() as session:
                attempt = attempts.get_attempt(session, job_id, number)
            is_over = attempt is None or is_final(AttemptState(attempt.state))
            if not is_over or (attempt is not None and not attempt.is_output_complete):
                continue  # output that did not reach the store is kept until the job is deleted
            forget(engine, job_id, number=number)


def forget(engine: Engine, job_id: str, *, number: int) -> None:
    """Remove what an ended attempt left on its nodes."""
    try:
        engine.forget(job_id, number)
    except (DanluError, OSError) as error:
        log.warning("cannot remove files of %s attempt %s: %s", job_id, number, error)


def release(engine: Engine, job_id: str, *, number: int) -> None:
    """Release what an ended attempt held; its files stay."""
    try:
        engine.release(job_id, number)
    except DanluError as error:
        log.warning("cannot release what %s attempt %s held: %s", job_id, number, error)
