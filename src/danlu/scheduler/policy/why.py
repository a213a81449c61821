"""Why a job waits, in full: worked out when somebody asks, from the same board that the policy decides on. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone

from danlu.scheduler.policy.board import Board
from danlu.scheduler.policy.cluster import Cluster
from danlu.scheduler.policy.holdings import Limit
from danlu.scheduler.policy.queueing import Entry
from danlu.scheduler.policy.reservation import reserve
from danlu.scheduler.policy.room import ALREADY, NEVER
from danlu.scheduler.policy.sentences import amount, closed_nodes
from danlu.scheduler.policy.shape import CPUS, MEMORY, TASKS, Need, Shape


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of a resource a job asks for, in all, and how much there is."""

    resource: str
    asked: float
    free: float
    total: float


@dataclass(frozen=True, slots=True)
class Why:
    resources: tuple[Amount, ...] = ()
    num_tasks: int = 0
    num_places: int = 0
    """How many of its tasks would find a place now."""

    limit: Limit | None = None
    can_ever: bool = True
    """Whether the nodes would do if they were empty and open."""

    ready_at: datetime | None = None
    """When there will be room if nothing new comes, by the time limits of what runs; None when nobody knows."""

    would_help: tuple[str, ...] = field(default=())


def explain(board: Board, entry: Entry, now: datetime) -> Why:
    """What keeps the job, and what would let it start. The board is the same afterwards."""
    cluster, shape = board.cluster, entry.shape
    limit = board.usage.limit(entry.project_id, entry.owner_id, shape.demand, is_preemptible=entry.is_preemptible)
    places = num_places(cluster, shape)
    can_ever = bool(cluster.rooms) and cluster.could_hold(shape, with_drained=True)
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
    """How many tasks of the job would find a place now."""
    taken = []
    for need in shape.needs:
        for count in range(need.num_tasks, 0, -1) if need.num_tasks <= 8 else _fewer(need.num_tasks):
            found = cluster.place(Shape((need._replace(num_tasks=count),)))
            if found is not None:
                taken += found
                break
    cluster.give_back(taken)
    return len(taken)


def _fewer(count: int) -> list[int]:
    """Numbers to try when there are many: the answer is good to a tenth."""
    found = [count]
    while found[-1] > 1:
        found.append(min(found[-1] - 1, found[-1] * 9 // 10))
    return found


def _amounts(cluster: Cluster, shape: Shape) -> list[Amount]:
    free: dict[str, float] = dict.fromkeys(shape.demand, 0.0)
    for room in cluster.rooms.values():
        if room.drain is not None:
            continue
        have = {CPUS: room.cpus, MEMORY: float(room.memory_bytes), TASKS: float(room.num_tasks)}
        have.update({kind: float(len(devices)) for kind, devices in room.free.items()})
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
    cluster.give_back(found.taken)
    if found.ready == NEVER:
        return None
    return now if found.ready == ALREADY else max(now, datetime.fromtimestamp(found.ready, timezone.utc))


def _would_help(cluster: Cluster, entry: Entry, limit: Limit | None, places: int) -> list[str]:
    told, shape = [], entry.shape
    if limit is not None and not entry.is_preemptible:
        lower = limit.used + limit.asked - limit.quota
        whose = "the project" if limit.scope == "project" else "you"
        if limit.asked <= limit.quota:
            told.append(f"{amount(limit.resource, lower)} less in use by {whose}")
        told.append(f"a quota of {amount(limit.resource, limit.used + limit.asked)}")
        told.append("`preemptible: true`, which may use what is idle")
    if cluster.could_hold(shape):
        if places == 0:
            told.append("the end of a job that holds what it asks for, or a smaller request")
        elif places < shape.num_tasks:
            told.append(f"a request of {places} tasks instead of {shape.num_tasks}")
            told.append("the end of jobs that hold the rest")
    elif not cluster.could_hold(shape, with_drained=True):
        told.append(f"a request that fits on the nodes: {_largest(shape.needs)} is more than they have")
    return told


def _opening(cluster: Cluster, shape: Shape, places: int) -> list[str]:
    closed = closed_nodes(cluster, shape) if places < shape.num_tasks else ""
    return [f"the opening of a node ({closed})"] if closed else []


def _largest(needs: tuple[Need, ...]) -> str:
    most = max(needs, key=lambda need: (need.devices, need.cpus, need.memory_bytes))
    return f"{most.num_tasks} x ({most})"
