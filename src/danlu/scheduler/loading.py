"""Load the snapshot that the policy decides on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from sqlalchemy.orm import Session

from danlu.scheduler.policy.holdings import Quotas
from danlu.scheduler.policy.snapshot import Drain, FreeNode, QueuedJob, RunningJob, RunningTask, Snapshot
from danlu.scheduler.running import RunningJobs
from danlu.scheduler.specs import SpecCache
from danlu.spec.job import JobSpec
from danlu.spec.nodes import NodeInfo
from danlu.store.queries import jobs, nodes, people, quotas


def load_snapshot(
    session: Session, infos: Mapping[str, NodeInfo], *, specs: SpecCache, running: RunningJobs
) -> tuple[Snapshot, dict[str, jobs.QueueRow], dict[str, Drain]]:
    """The snapshot without its nodes, the queued rows by id, and the drains.

    A job whose spec cannot be parsed is among the rows, but not in the snapshot. `free_nodes` computes the nodes.
    """
    rows = jobs.queue(session)
    specs.add(jobs.specs_of(session, specs.unknown(row.id for row in rows)))
    queue = tuple(queued_job(row, spec) for row in rows if (spec := specs.get(row.id)) is not None)
    snapshot = _snapshot(session, running.load(session, infos, specs), queue)
    return snapshot, {row.id: row for row in rows}, load_drains(session)


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
    session: Session, infos: Mapping[str, NodeInfo], running: tuple[RunningJob, ...], *, queue: tuple[QueuedJob, ...]
) -> Snapshot:
    """The snapshot of running jobs with their nodes, and with the given queue."""
    found = _snapshot(session, running, queue)
    return replace(found, nodes=tuple(free_nodes(infos, running, load_drains(session))))


def _snapshot(session: Session, running: tuple[RunningJob, ...], queue: tuple[QueuedJob, ...]) -> Snapshot:
    projects, users = quotas.all_quotas(session)
    return Snapshot(
        queue=queue,
        nodes=(),
        ports_in_use=_ports(running, queue),
        running=running,
        quotas=Quotas(projects, users),
        names=people.projects_by_id(session),
    )


def _ports(running: Iterable[RunningJob], queue: Iterable[QueuedJob]) -> frozenset[int]:
    """Ports that must not be allotted: those in use, and fixed ports of queued jobs."""
    used = {port for job in running for task in job.tasks for port in task.ports}
    return frozenset(used.union(*(job.spec.ports for job in queue if job.spec.ports)))


def load_drains(session: Session) -> dict[str, Drain]:
    """Node -> its drain."""
    return {name: Drain(row.reason, row.evicts) for name, row in nodes.drains(session).items()}


def free_nodes(
    infos: Mapping[str, NodeInfo], running: Iterable[RunningJob], drains: Mapping[str, Drain]
) -> Iterator[FreeNode]:
    """The nodes with what is free on each."""
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
            ports=tuple(port for task in here for port in task.ports),
            drain=drains.get(name),
        )
