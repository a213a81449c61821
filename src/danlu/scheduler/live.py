"""Live attempts, as stored in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from danlu.engines.base import Handle
from danlu.scheduler.context import Context
from danlu.scheduler.specs import SpecCache
from danlu.spec.job import JobSpec
from danlu.store.queries import attempts, jobs
from danlu.store.sql.tables import AttemptRow, JobRow, TaskRow

LEASE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class LiveJob:
    job: JobRow
    spec: JobSpec
    attempt: AttemptRow
    tasks: tuple[TaskRow, ...]

    @property
    def handles(self) -> list[Handle]:
        return [Handle(job_id=task.job_id, attempt=task.attempt, rank=task.rank, node=task.node) for task in self.tasks]


def load_live(context: Context, specs: SpecCache) -> list[LiveJob]:
    """Live jobs that this server owns; it claims those without an owner.

    Claims are renewed after half of their lease, so that most calls do not write.
    """
    now = context.now()
    with context.database.reading() as session:
        rows = jobs.in_states(session, jobs.LIVE)
    if any(_wants_claim(row, context.server_id, now + timedelta(seconds=LEASE_SECONDS / 2)) for row in rows):
        with context.database.writing() as session:
            jobs.claim(session, jobs.LIVE, token=context.server_id, now=now, seconds=LEASE_SECONDS)
        with context.database.reading() as session:
            rows = jobs.in_states(session, jobs.LIVE)
    return _with_tasks(context, specs, [row for row in rows if row.lock_token == context.server_id])


def _wants_claim(row: JobRow, server_id: str, soon: datetime) -> bool:
    return row.lock_token != server_id or row.lock_expires_at is None or row.lock_expires_at < soon


def _with_tasks(context: Context, specs: SpecCache, rows: Sequence[JobRow]) -> list[LiveJob]:
    if not rows:
        return []
    keys = [(row.id, row.attempt) for row in rows]
    specs.add({row.id: row.spec for row in rows})
    with context.database.reading() as session:
        by_job = attempts.attempts_by_key(session, keys)
        tasks = attempts.tasks_by_key(session, keys)
    return [
        LiveJob(row, spec, by_job[row.id], tuple(tasks[row.id]))
        for row in rows
        if row.id in by_job and (spec := specs.get(row.id)) is not None
    ]
