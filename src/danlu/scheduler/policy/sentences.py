"""Why a job waits, in a sentence that stays the same while nothing changes: each new one is written to the database.

How much is free, who is ahead and when it may start is worked out when somebody asks: see `why`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

from danlu.scheduler.policy.cluster import Cluster
from danlu.scheduler.policy.holdings import Limit
from danlu.scheduler.policy.room import Room
from danlu.scheduler.policy.shape import MEMORY, Need, Shape
from danlu.spec.nodes import NodeInfo
from danlu.spec.reasons import Reason, reason
from danlu.spec.units import show_size

MAX_SHOWN = 4


def no_room(cluster: Cluster, shape: Shape) -> Reason:
    """Why a job that is within its quota finds no place."""
    if cluster.could_hold(shape):
        return no_capacity(shape, closed_nodes(cluster, shape))
    if cluster.could_hold(shape, with_drained=True):
        return reason("drained", f"asks for {shape}; {closed_nodes(cluster, shape)}")
    return no_such_node(shape, (room.info for room in cluster.rooms.values()))


@lru_cache(maxsize=10_000)
def no_capacity(shape: Shape, drained: str = "") -> Reason:
    apart = any(need.keeps_to_rings and need.devices > 1 for need in shape.needs)
    told = f"asks for {shape}; that is in use" + (", or free in parts of rings" if apart else "")
    return reason("no_capacity", f"{told}; {drained}" if drained else told)


def drained_node(room: Room) -> str:
    assert room.drain is not None
    return f"node {room.name} is drained: {room.drain.reason}"


def closed_nodes(cluster: Cluster, shape: Shape) -> str:
    """The drained nodes that have what a task of the job asks for; empty when none does."""
    closed = [room for room in cluster.rooms.values() if room.drain is not None and room.could_hold(shape)]
    more = f"; and {len(closed) - MAX_SHOWN} more" if len(closed) > MAX_SHOWN else ""
    return "; ".join(drained_node(room) for room in closed[:MAX_SHOWN]) + more


def no_such_node(shape: Shape, infos: Iterable[NodeInfo]) -> Reason:
    every = list(infos)
    shown = "; ".join(f"{_has(shape.needs, info)} on {info.name}" for info in islice(every, MAX_SHOWN))
    more = f"; and {len(every) - MAX_SHOWN} more nodes" if len(every) > MAX_SHOWN else ""
    return reason("no_such_node", f"asks for {shape}, more than all nodes have when empty: {shown}{more}; ask for less")


def over_quota(limit: Limit) -> Reason:
    return _over_quota(limit.scope, limit.resource, limit.quota, limit.asked)


@lru_cache(maxsize=10_000)
def _over_quota(scope: str, resource: str, most: float, wanted: float) -> Reason:
    whose = "the project" if scope == "project" else "its owner in the project"
    quota, asked = amount(resource, most), amount(resource, wanted)
    if wanted > most:
        told = f"asks for {asked}, more than the whole quota of {whose} ({quota})"
        return reason(f"quota_{scope}", f"{told}; ask for less, or for preemptible: true")
    return reason(f"quota_{scope}", f"asks for {asked}; too much of the quota of {whose} ({quota}) is in use")


def making_room(shape: Shape) -> Reason:
    return reason("making_room", f"asks for {shape}; jobs that hold it are ending to make room")


def reserved(shape: Shape) -> Reason:
    return reason("reserved", f"asks for {shape}; nodes are kept for it as they become free")


def amount(resource: str, value: float) -> str:
    return f"{show_size(int(value))} memory" if resource == MEMORY else f"{value:g} {resource}"


def _has(needs: tuple[Need, ...], info: NodeInfo) -> str:
    parts = []
    for kind in dict.fromkeys(need.type for need in needs if need.devices):
        count = sum(1 for device in info.devices if device.type == kind)
        models = {need.model for need in needs if need.type == kind and need.model}
        have = sorted({device.model or "" for device in info.devices if device.type == kind} - {""})
        parts.append(f"{count} {kind}" + (f" ({', '.join(have)})" if models and have else ""))
    if any(need.cpus for need in needs):
        parts.append(f"{info.cpus:g} cpus")
    if any(need.memory_bytes for need in needs):
        parts.append(show_size(info.memory_bytes))
    parts.append(f"{info.max_tasks} task slots")
    return ", ".join(parts)
