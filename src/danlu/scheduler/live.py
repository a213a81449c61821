"""Live attempts, as stored in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from danlu.engines.base import Handle
from danlu.scheduler.context import Context
from danlu.scheduler.specs import SpecCache
from danlu.spec.job import JobSpec
from danlu.spec.states import AttemptState, Desired, JobState, TaskState
from danlu.store.queries import attempts, jobs
from danlu.store.sql.tables import AttemptRow, JobRow, TaskRow

LEASE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class LiveJob:
    job: JobRow
    spec: JobSpec
    attempt: AttemptRow
    tasks: tuple[TaskRow, ...]
    handles: tuple[Handle, ...] = field(init=False)
    just_runs: bool = field(init=False)
    """Whether there is nothing to do until the engine reports a change or a user requests one."""

    def __post_init__(self) -> None:
        handles = (
            Handle(job_id=task.job_id, attempt=task.attempt, rank=task.rank, node=task.node) for task in self.tasks
        )
        object.__setattr__(self, "handles", tuple(handles))
        object.__setattr__(self, "just_runs", _just_runs(self))


class LiveJobs:
    """Live jobs that this server owns.

    Most of many live jobs just run. These are cached, and read again when their version changes, in this server or in
    another one. All others are read at every poll.
    """

    def __init__(self, context: Context, specs: SpecCache) -> None:
        self._context, self._specs = context, specs
        self._kept: dict[str, LiveJob] = {}

    def load(self) -> list[LiveJob]:
        """Load the jobs, and claim those without an owner.

        Claims are renewed after half of their lease, so that most calls do not write.
        """
        marks = self._marks()
        soon = self._context.now() + timedelta(seconds=LEASE_SECONDS / 2)
        if any(_wants_claim(mark, self._context.server_id, soon) for mark in marks):
            self._claim()
            marks = self._marks()
        mine = {mark.id: mark.version for mark in marks if mark.lock_token == self._context.server_id}
        kept = {job_id: item for job_id, item in self._kept.items() if mine.get(job_id) == item.job.version}
        found = {**kept, **{item.job.id: item for item in self._read([one for one in mine if one not in kept])}}
        self._kept = {job_id: item for job_id, item in found.items() if item.just_runs}
        return [found[job_id] for job_id in mine if job_id in found]

    def forget(self, item: LiveJob) -> None:
        """Drop the job from the cache, because it changes."""
        self._kept.pop(item.job.id, None)

    def _marks(self) -> list[jobs.Mark]:
        with self._context.database.reading() as session:
            return jobs.marks(session, jobs.LIVE)

    def _claim(self) -> None:
        token, now = self._context.server_id, self._context.now()
        with self._context.database.writing() as session:
            jobs.claim(session, jobs.LIVE, token=token, now=now, seconds=LEASE_SECONDS)

    def _read(self, ids: Sequence[str]) -> list[LiveJob]:
        if not ids:
            return []
        with self._context.database.reading() as session:
            rows = [row for row in jobs.jobs_by_id(session, ids).values() if row.state in jobs.LIVE]
            keys = [(row.id, row.attempt) for row in rows]
            by_job = attempts.attempts_by_key(session, keys)
            tasks = attempts.tasks_by_key(session, keys)
        self._specs.add({row.id: row.spec for row in rows})
        return [
            LiveJob(row, spec, by_job[row.id], tuple(tasks[row.id]))
            for row in rows
            if row.id in by_job and (spec := self._specs.get(row.id)) is not None
        ]


def _wants_claim(mark: jobs.Mark, server_id: str, soon: datetime) -> bool:
    return mark.lock_token != server_id or mark.lock_expires_at is None or mark.lock_expires_at < soon


def _just_runs(item: LiveJob) -> bool:
    return (
        item.job.state == JobState.RUNNING.value
        and item.job.reason_code == "running"
        and item.job.desired == Desired.RUN.value
        and item.attempt.state == AttemptState.RUNNING.value
        and item.attempt.is_started
        and item.spec.max_duration is None
        and all(task.state == TaskState.RUNNING.value for task in item.tasks)
    )
