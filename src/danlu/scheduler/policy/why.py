"""Why a job waits, in detail: computed on request from the same state that the policy uses. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone

from danlu.scheduler.policy.cluster import Cluster
from danlu.scheduler.policy.holdings import Limit
from danlu.scheduler.policy.node_state import ALREADY, NEVER
from danlu.scheduler.policy.queueing import Entry
from danlu.scheduler.policy.reservation import reserve
from danlu.scheduler.policy.shape import CPUS, MEMORY, TASKS, Need, Shape
from danlu.scheduler.policy.state import SchedulingState
from danlu.scheduler.policy.waiting_reasons import amount, closed_nodes
from danlu.spec.messages.catalogue import say


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of a resource a job requests in total, and how much exists."""

    resource: str
    asked: float
    free: float
    total: float


@dataclass(frozen=True, slots=True)
class Why:
    resources: tuple[Amount, ...] = ()
    num_tasks: int = 0
    num_places: int = 0
    """How many of its tasks could be placed now."""

    limit: Limit | None = None
    can_ever: bool = True
    """Whether it would fit if all nodes were empty and none were drained."""

    ready_at: datetime | None = None
    """When it will fit if nothing new starts, by the time limits of running jobs; None when that is unknown."""

    would_help: tuple[str, ...] = field(default=())


def explain(state: SchedulingState, entry: Entry, now: datetime) -> Why:
    """Explain why the job waits, and what would let it start. The state is unchanged afterwards."""
    cluster, shape = state.cluster, entry.shape
    limit = state.holdings.limit(entry.project_id, entry.owner_id, shape.demand, is_preemptible=entry.is_preemptible)
    places = num_places(cluster, shape)
    can_ever = bool(cluster.nodes) and cluster.fits_when_empty(shape, with_drained=True)
    return Why(
        resources=tuple(_amounts(cluster, shape)),
        num_tasks=shape.num_tasks,
        num_places=places,
        limit=limit,
        can_ever=can_ever,
        ready_at=_ready_at(cluster, entry, now) if can_ever and (limit is None or entry.is_preemptible) else None,
        would_help=(*_would_help(cluster, entry, limit, places), *_opening(cluster, shape, places)),
    )


def num_places(cluster: Cluster, shape: Shape) -> int:
    """How many tasks of the job could be placed now."""
    allocations = []
    for need in shape.needs:
        for count in range(need.num_tasks, 0, -1) if need.num_tasks <= 8 else _fewer(need.num_tasks):
            found = cluster.place(Shape((need._replace(num_tasks=count),)))
            if found is not None:
                allocations += found
                break
    cluster.release(allocations)
    return len(allocations)


def _fewer(count: int) -> list[int]:
    """Numbers to try for a large count, in steps of 10%, so that the answer is approximate."""
    found = [count]
    while found[-1] > 1:
        found.append(min(found[-1] - 1, found[-1] * 9 // 10))
    return found


def _amounts(cluster: Cluster, shape: Shape) -> list[Amount]:
    free: dict[str, float] = dict.fromkeys(shape.demand, 0.0)
    for node in cluster.nodes.values():
        if node.drain is not None:
            continue
        have = {CPUS: node.cpus, MEMORY: float(node.memory_bytes), TASKS: float(node.num_tasks)}
        have.update({kind: float(len(devices)) for kind, devices in node.free.items()})
        for resource in free:
            free[resource] += max(0.0, have.get(resource, 0.0))
    return [
        Amount(resource, asked, free[resource], cluster.capacity.get(resource, 0.0))
        for resource, asked in shape.demand.items()
        if resource != TASKS
    ]


def _ready_at(cluster: Cluster, entry: Entry, now: datetime) -> datetime | None:
    found = reserve(cluster, entry.job.id, entry.shape)
    if found is None:
        return None
    cluster.release(found.allocations)
    if found.ready == NEVER:
        return None
    return now if found.ready == ALREADY else max(now, datetime.fromtimestamp(found.ready, timezone.utc))


def _would_help(cluster: Cluster, entry: Entry, limit: Limit | None, places: int) -> list[str]:
    told, shape = [], entry.shape
    if limit is not None and not entry.is_preemptible:
        lower = limit.used + limit.asked - limit.quota
        whose = "project_holding_less" if limit.scope == "project" else "you_holding_less"
        if limit.asked <= limit.quota:
            told.append(say(whose, amount=amount(limit.resource, lower)))
        told.append(say("larger_quota", amount=amount(limit.resource, limit.used + limit.asked)))
        told.append(say("be_preemptible"))
    if cluster.fits_when_empty(shape):
        if places == 0:
            told.append(say("end_or_smaller"))
        elif places < shape.num_tasks:
            told.append(say("fewer_tasks", places=places, tasks=shape.num_tasks))
            told.append(say("end_of_others"))
    elif not cluster.fits_when_empty(shape, with_drained=True):
        told.append(say("smaller_request", largest=_largest(shape.needs)))
    return told


def _opening(cluster: Cluster, shape: Shape, places: int) -> list[str]:
    closed = closed_nodes(cluster, shape) if places < shape.num_tasks else ""
    return [f"reopening a node ({closed})"] if closed else []


def _largest(needs: tuple[Need, ...]) -> str:
    most = max(needs, key=lambda need: (need.devices, need.cpus, need.memory_bytes))
    return f"{most.num_tasks} x ({most})"
