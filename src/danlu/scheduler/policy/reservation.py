"""Reserve nodes for a job that has waited long, so that smaller jobs do not overtake it forever.

The nodes that will be ready first are reserved: by the time limits of their jobs or, without limits, those on which the
fewest jobs must end. Only jobs that certainly end before the reservation is due may use them (backfill). The choice
stays the same from round to round: nothing new is placed on a reserved node, so it comes closer to being ready.
"""

from __future__ import annotations

from typing import NamedTuple

from danlu.scheduler.policy.cluster import Cluster
from danlu.scheduler.policy.node_state import ALREADY, Allocation, NodeState
from danlu.scheduler.policy.ranking import NodeRanking
from danlu.scheduler.policy.shape import Need, Shape

RESERVE_AFTER_SECONDS = 60.0
"""The first job of a project gets a reservation after it has waited this long."""

MAX_RESERVATIONS = 8


class Reservation(NamedTuple):
    job_id: str
    allocations: list[Allocation]
    ready: float
    """Unix time at which the last node will be ready; infinite without time limits."""


def reserve(cluster: Cluster, job_id: str, shape: Shape) -> Reservation | None:
    """Reserve the nodes that will be ready first; None when the job would not fit on empty nodes either."""
    found = [
        one
        for engine in cluster.engines_for(shape)
        if (one := _reserve_on(cluster, engine, job_id=job_id, shape=shape))
    ]
    best = min(found, key=lambda one: one.ready, default=None)
    for one in found:
        if one is not best:
            cluster.release(one.allocations)
    return best


def _reserve_on(cluster: Cluster, engine: str | None, *, job_id: str, shape: Shape) -> Reservation | None:
    allocations: list[Allocation] = []
    used: set[str] = set()
    last = ALREADY
    for need in shape.needs:
        ranking = _ranking(cluster, engine, need=need)
        passed = []
        for _ in range(need.num_tasks):
            best = ranking.pop()
            while best is not None and best[1].name in used and not best[1].info.holds_many_tasks:
                passed.append(best[1])
                best = ranking.pop()
            if best is None:
                break
            (ready, _), node = best
            devices = node.fit(need, node.until_ready(need))
            assert devices is not None
            allocations.append(cluster.allocate(node, need, devices))
            used.add(node.name)
            last = max(last, ready)
        ranking.changed.update(passed)
        if best is None:
            cluster.release(allocations)
            return None
    return Reservation(job_id, allocations, last)


def _ranking(cluster: Cluster, engine: str | None, *, need: Need) -> NodeRanking:
    def rate(node: NodeState) -> tuple[float, int] | None:
        return node.ready(need) if node.is_of(engine) else None

    return cluster.ranking(("ready", engine, need._replace(num_tasks=1)), rate, cluster.nodes.values())


class Lifted(NamedTuple):
    """A reservation whose free parts are temporarily released."""

    reservation: Reservation
    idle: list[Allocation]


def lift(cluster: Cluster, reservation: Reservation) -> Lifted:
    """Release what is reserved and already free, to try a job that would end in time."""
    idle = [
        item for item in reservation.allocations if len(item.pending_ids) < len(item.devices) or not item.need.devices
    ]
    cluster.release(idle)
    return Lifted(reservation, idle)


def renew(cluster: Cluster, lifted: Lifted) -> Reservation:
    """Reserve the same again, except devices that a job was allocated in between: it ends in time."""
    again: dict[int, Allocation] = {}
    for item in lifted.idle:
        free = item.node.free.get(item.need.type, {})
        devices = tuple(device for device in item.devices if device.id in free or device.id in item.pending_ids)
        again[id(item)] = cluster.allocate(item.node, item.need, devices)
    return lifted.reservation._replace(
        allocations=[again.get(id(item), item) for item in lifted.reservation.allocations]
    )
