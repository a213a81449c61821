"""What the tasks of a job used, for all users who see the job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from danlu.auth.identity import UserIdentity
from danlu.errors import NotFound
from danlu.server.jobs.service import find
from danlu.spec.states import JobState, TaskState, is_live
from danlu.store.metrics.usage import Floats, Usage, UsageFiles, grid, lines
from danlu.store.queries import attempts
from danlu.store.sql.tables import JobRow, TaskRow
from danlu.wire.usage import TaskUsage, UsageLine, UsageOut

MAX_VALUES = 40_000
"""Points of all tasks together: with many tasks each has fewer."""

MIN_POINTS = 20


@dataclass(frozen=True)
class Asked:
    """The tasks whose usage is requested."""

    job: JobRow
    attempt: int
    tasks: list[TaskRow]


def find_tasks(session: Session, who: UserIdentity, job: str, *, attempt: int | None, ranks: Sequence[int]) -> Asked:
    """Tasks of an attempt; by default all tasks of the newest attempt."""
    row = find(session, who, job)
    number = row.attempt if attempt is None else attempt
    if number > row.attempt:
        had = f"its attempts are 1 to {row.attempt}" if row.attempt else "it has not been started yet"
        raise NotFound(f"{row.id} has no attempt {number}; {had}")
    tasks = attempts.tasks_by_key(session, [(row.id, number)]).get(row.id, [])
    known = [task.rank for task in tasks]
    for rank in ranks:
        if rank not in known:
            raise NotFound(f"{row.id} has no rank {rank}; its ranks are 0 to {len(known) - 1}")
    return Asked(row, number, [task for task in tasks if not ranks or task.rank in ranks])


def usage_out(files: UsageFiles, asked: Asked, *, num_points: int) -> UsageOut:
    """What the tasks used, thinned to `num_points` at most. Reads files."""
    row, number = asked.job, asked.attempt
    usages = {task.rank: files.read(row.id, number, task.rank) for task in asked.tasks}
    measured = [usage for usage in usages.values() if usage is not None]
    edges = grid(measured, min(num_points, max(MIN_POINTS, MAX_VALUES // max(1, len(measured)))))
    return UsageOut(
        job=row.id,
        attempt=number,
        num_attempts=row.attempt,
        is_live=number == row.attempt and is_live(JobState(row.state)),
        every_seconds=max((usage.every_seconds for usage in measured), default=0.0),
        at=[round(float(at), 3) for at in edges[1:]],
        tasks=[_task(task, usages[task.rank], edges) for task in asked.tasks],
    )


def _task(task: TaskRow, usage: Usage | None, edges: Floats) -> TaskUsage:
    found = {} if usage is None else lines(usage, edges)
    return TaskUsage(
        rank=task.rank,
        role=task.role,
        node=task.node,
        state=TaskState(task.state),
        cpus=task.cpus,
        memory_bytes=task.memory_bytes,
        num_devices=len(task.device_ids),
        lines={
            name: UsageLine(mean=line.mean, peak=line.peak, average=line.average, highest=line.highest, last=line.last)
            for name, line in found.items()
        },
    )
