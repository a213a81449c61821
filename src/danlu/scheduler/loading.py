"""Load the snapshot that the policy decides on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from sqlalchemy.orm import Session

from danlu.scheduler.policy.holdings import Quotas
from danlu.scheduler.policy.snapshot import Drain, FreeNode, QueuedJob, RunningJob, RunningTask, Snapshot
from danlu.scheduler.specs import SpecCache
from danlu.spec.devices import Device
from danlu.spec.job import JobSpec
from danlu.spec.nodes import NodeInfo
from danlu.spec.states import AttemptState, Desired
from danlu.store.queries import attempts, jobs, nodes, people, quotas

LONG_GRACE_SECONDS = 600.0
"""Jobs with a longer grace period do not count as ending soon."""


def load_snapshot(
    session: Session, infos: Mapping[str, NodeInfo], specs: SpecCache
) -> tuple[Snapshot, dict[str, jobs.QueueRow]]:
    """The snapshot, and the queued rows by id. A row whose spec cannot be read is only among the rows."""
    rows = jobs.queue(session)
    specs.add(jobs.specs_of(session, specs.unknown(row.id for row in rows)))
    queue = tuple(queued_job(row, spec) for row in rows if (spec := specs.get(row.id)) is not None)
    return load_running(session, infos, specs, queue), {row.id: row for row in rows}


def queued_job(row: jobs.QueueRow, spec: JobSpec) -> QueuedJob:
    return QueuedJob(
        id=row.id,
        spec=spec,
        attempt=row.attempt + 1,
        queued_at=row.queued_at,
        not_before=row.not_before,
        project_id=row.project_id,
        owner_id=row.owner_id,
    )


def load_running(
    session: Session, infos: Mapping[str, NodeInfo], specs: SpecCache, queue: tuple[QueuedJob, ...]
) -> Snapshot:
    """The snapshot of everything that runs, with the given queue."""
    live = attempts.live_attempts(session)
    specs.add(jobs.specs_of(session, specs.unknown(row.job_id for row in live)))
    running = tuple(_running_jobs(session, infos, live, specs))
    projects, users = quotas.all_quotas(session)
    return Snapshot(
        queue=queue,
        nodes=tuple(_free_nodes(infos, running, load_drains(session))),
        ports_in_use=attempts.ports_in_use(session),
        running=running,
        quotas=Quotas(projects, users),
        names=people.projects_by_id(session),
    )


def load_drains(session: Session) -> dict[str, Drain]:
    """Node -> its drain."""
    return {name: Drain(row.reason, row.evicts) for name, row in nodes.drains(session).items()}


def _running_jobs(
    session: Session, infos: Mapping[str, NodeInfo], live: Iterable[attempts.LiveAttempt], specs: SpecCache
) -> Iterable[RunningJob]:
    devices: dict[tuple[str, int], list[Device]] = {}
    known: dict[str, dict[tuple[str, int], Device]] = {}
    for claim in attempts.device_claims(session):
        if claim.node in infos and claim.node not in known:
            known[claim.node] = {(device.type, device.id): device for device in infos[claim.node].devices}
        # a device that its node no longer reports, or whose node is unreachable, is still in use
        device = known.get(claim.node, {}).get((claim.type, claim.device_id))
        held = devices.setdefault((claim.job_id, claim.rank), [])
        held.append(device or Device(type=claim.type, id=claim.device_id))
    tasks: dict[str, list[attempts.LiveTask]] = {}
    for task in attempts.tasks_in_use(session):
        tasks.setdefault(task.job_id, []).append(task)
    for attempt in live:
        mine = tasks.get(attempt.job_id, [])
        yield _running_job(attempt, mine, specs.get(attempt.job_id), devices)


def _running_job(
    attempt: attempts.LiveAttempt,
    tasks: list[attempts.LiveTask],
    spec: JobSpec | None,
    devices: Mapping[tuple[str, int], list[Device]],
) -> RunningJob:
    is_ending = attempt.state == AttemptState.STOPPING.value
    begun = min((task.started_at for task in tasks if task.started_at is not None), default=attempt.started_at)
    limit = spec.max_duration if spec is not None else None
    ends_at = None if spec is None or limit is None else begun + timedelta(seconds=limit + spec.grace)
    return RunningJob(
        id=attempt.job_id,
        project_id=attempt.project_id,
        owner_id=attempt.owner_id,
        started_at=attempt.started_at,
        tasks=tuple(
            RunningTask(
                node=task.node,
                devices=tuple(devices.get((task.job_id, task.rank), ())),
                cpus=task.cpus,
                memory_bytes=task.memory_bytes,
            )
            for task in tasks
        ),
        is_preemptible=spec is not None and spec.preemptible,
        is_ending=is_ending and spec is not None and spec.grace <= LONG_GRACE_SECONDS,
        can_be_stopped=attempt.is_started and not is_ending and attempt.desired == Desired.RUN.value,
        ends_at=ends_at,
    )


def _free_nodes(
    infos: Mapping[str, NodeInfo], running: Iterable[RunningJob], drains: Mapping[str, Drain]
) -> Iterable[FreeNode]:
    used: dict[str, list[RunningTask]] = {}
    for job in running:
        for task in job.tasks:
            used.setdefault(task.node, []).append(task)
    for name, info in infos.items():
        here = used.get(name, ())
        taken = {(device.type, device.id) for task in here for device in task.devices}
        yield FreeNode(
            info=info,
            devices=tuple(device for device in info.devices if (device.type, device.id) not in taken),
            cpus=info.cpus - sum(task.cpus for task in here),
            memory_bytes=info.memory_bytes - sum(task.memory_bytes for task in here),
            num_tasks=info.max_tasks - len(here),
            drain=drains.get(name),
        )
