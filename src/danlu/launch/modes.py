"""The launch modes by name, and the one way in."""

from __future__ import annotations

from collections.abc import Callable

from danlu.launch import ddp, plain
from danlu.launch.placement import Placement
from danlu.launch.plan import Plan
from danlu.spec.job import JobSpec, LaunchMode

Mode = Callable[..., dict[str, str]]
"""(job, placement, rank) -> the variables that this mode adds to a task."""

MODES: dict[LaunchMode, Mode] = {
    LaunchMode.PLAIN: plain.environment,
    LaunchMode.DDP: ddp.environment,
}


def make_plan(job: JobSpec, *, job_id: str, attempt: int, placement: Placement, output: str) -> Plan:
    """Say what would be started. Pure: no I/O, no clock, no randomness.

    `output` is the folder in the store that takes the results, job id included.
    """
    mode = MODES[job.launch]
    tasks = tuple(
        plain.task_plan(
            job,
            job_id=job_id,
            attempt=attempt,
            placement=placement,
            place=place,
            output=output,
            mode_env=mode(job, job_id=job_id, placement=placement, rank=place.rank),
        )
        for place in placement.tasks
    )
    return Plan(job_id=job_id, attempt=attempt, grace_seconds=job.grace, tasks=tasks)
