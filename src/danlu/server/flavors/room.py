"""How many tasks of a flavor fit the cluster, in total and now."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy.orm import Session

from danlu.scheduler.loading import load_drains
from danlu.scheduler.policy.cluster import empty_node
from danlu.scheduler.policy.node_state import NodeState
from danlu.scheduler.policy.shape import Need
from danlu.scheduler.policy.snapshot import FreeNode
from danlu.spec.flavors import Flavor
from danlu.spec.nodes import NodeInfo
from danlu.store.queries import attempts, nodes

MAX_COUNTED = 1000
"""Counting stops here: larger numbers are of no use."""


def infos(session: Session) -> list[NodeInfo]:
    """The online nodes."""
    return [NodeInfo.model_validate(row.info) for row in nodes.list_nodes(session) if row.is_reachable]


def free_nodes(session: Session, known: Iterable[NodeInfo]) -> list[FreeNode]:
    """What is left of these nodes now."""
    drains = load_drains(session)
    taken = {(claim.node, claim.type, claim.device_id) for claim in attempts.device_claims(session)}
    tasks: dict[str, list[attempts.LiveTask]] = {}
    for task in attempts.tasks_in_use(session):
        tasks.setdefault(task.node, []).append(task)
    return [
        FreeNode(
            info=info,
            devices=tuple(one for one in info.devices if (info.name, one.type, one.id) not in taken),
            cpus=info.cpus - sum(task.cpus for task in tasks.get(info.name, ())),
            memory_bytes=info.memory_bytes - sum(task.memory_bytes for task in tasks.get(info.name, ())),
            num_tasks=info.max_tasks - len(tasks.get(info.name, ())),
            drain=drains.get(info.name),
        )
        for info in known
    ]


def count(flavor: Flavor, found: Iterable[FreeNode]) -> int:
    """How many tasks of this shape fit."""
    need = Need(
        num_tasks=1,
        type=flavor.device.type,
        model=flavor.device.model,
        devices=flavor.device.count if flavor.device.is_scarce else 0,
        cpus=flavor.cpus or 0.0,
        memory_bytes=flavor.memory or 0,
        keeps_to_rings=False,
    )
    number = 0
    for node in found:
        state = NodeState(node, 0)
        while (devices := state.fit(need)) is not None:
            state.allocate(need, devices)
            number += 1
            if number == MAX_COUNTED:
                return number
    return number


def empty(known: Iterable[NodeInfo]) -> list[FreeNode]:
    """The same nodes as if nothing ran."""
    return [empty_node(info) for info in known]
