"""The launch modes by name, and the entry point of this package."""

from __future__ import annotations

from collections.abc import Callable

from danlu.errors import InvalidSpec
from danlu.launch import ascend, ddp, mpi, plain, ps_worker, ray
from danlu.launch.additions import Additions
from danlu.launch.contracts import add_contract
from danlu.launch.owner import Owner
from danlu.launch.placement import Placement
from danlu.launch.plan import Plan
from danlu.launch.targets import check_targets
from danlu.spec import roles
from danlu.spec.job import JobSpec, LaunchMode, Processes

Mode = Callable[..., list[Additions]]
"""(job, job_id, placement) -> additions of this mode to each task, in rank order. Raises InvalidSpec or Unsupported."""

MODES: dict[LaunchMode, Mode] = {
    LaunchMode.PLAIN: plain.add,
    LaunchMode.DDP: ddp.add,
    LaunchMode.ASCEND: ascend.add,
    LaunchMode.PS_WORKER: ps_worker.add,
    LaunchMode.MPI: mpi.add,
    LaunchMode.HOROVOD: mpi.add,
    LaunchMode.DEEPSPEED: mpi.add,
    LaunchMode.COLOSSALAI: mpi.add,
    LaunchMode.RAY: ray.add,
}


def make_plan(
    job: JobSpec, *, job_id: str, attempt: int, placement: Placement, output: str, owner: Owner | None = None
) -> Plan:
    """Return the plan of an attempt. Pure: no I/O, no clock, no randomness.

    `output` is the folder in the store for the results, job id included.
    """
    roles.check(job)
    _check_processes(job)
    additions = add_contract(
        job,
        MODES[job.launch](job, job_id=job_id, placement=placement),
        job_id=job_id,
        attempt=attempt,
        placement=placement,
        owner=owner or Owner(),
    )
    tasks = tuple(
        plain.task_plan(
            job,
            job_id=job_id,
            attempt=attempt,
            placement=placement,
            place=place,
            member=member,
            output=output,
            added=added._replace(project_id=(owner or Owner()).project_id),
        )
        for place, member, added in zip(placement.tasks, roles.members(job), additions, strict=True)
    )
    for task in tasks:
        check_targets(task)
    return Plan(
        job_id=job_id,
        attempt=attempt,
        grace_seconds=job.grace,
        has_own_network=placement.has_own_network,
        tasks=tasks,
    )


def _check_processes(job: JobSpec) -> None:
    if job.processes is Processes.PER_DEVICE and job.launch is not LaunchMode.ASCEND:
        problem = f"'per_device' goes with launch: ascend only, and this job has launch: {job.launch}"
        raise InvalidSpec(f"invalid job: processes: {problem}", fields={"processes": problem})
