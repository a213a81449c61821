"""From rows to the policy's snapshot."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session

from danlu.scheduler.snapshot import FreeNode, QueuedJob, Snapshot
from danlu.scheduler.specs import SpecCache
from danlu.spec.devices import Device
from danlu.spec.nodes import NodeInfo
from danlu.store import attempts, jobs


def load_snapshot(
    session: Session, infos: Mapping[str, NodeInfo], specs: SpecCache
) -> tuple[Snapshot, dict[str, jobs.QueueRow]]:
    """Return what the policy needs, and the queued rows by id; rows that cannot be read are only among the latter."""
    rows = jobs.queue(session)
    specs.add(jobs.specs_of(session, specs.unknown(row.id for row in rows)))
    queue = tuple(
        QueuedJob(
            id=row.id,
            spec=spec,
            attempt=row.attempt + 1,
            queued_at=row.queued_at,
            not_before=row.not_before,
        )
        for row in rows
        if (spec := specs.get(row.id)) is not None
    )
    snapshot = Snapshot(queue=queue, nodes=_free_nodes(session, infos), ports_in_use=attempts.ports_in_use(session))
    return snapshot, {row.id: row for row in rows}


def _free_nodes(session: Session, infos: Mapping[str, NodeInfo]) -> tuple[FreeNode, ...]:
    claimed = {(claim.node, claim.type, claim.device_id) for claim in attempts.device_claims(session)}
    tasks = attempts.live_tasks(session)
    nodes = []
    for info in infos.values():
        here = [task for task in tasks if task.node == info.name]
        nodes.append(
            FreeNode(
                info=info,
                devices=tuple(device for device in info.devices if not _is_claimed(info.name, device, claimed)),
                cpus=info.cpus - sum(task.cpus for task in here),
                memory_bytes=info.memory_bytes - sum(task.memory_bytes for task in here),
                num_tasks=info.max_tasks - len(here),
            )
        )
    return tuple(nodes)


def _is_claimed(node: str, device: Device, claimed: set[tuple[str, str, int]]) -> bool:
    return (node, device.type, device.id) in claimed
