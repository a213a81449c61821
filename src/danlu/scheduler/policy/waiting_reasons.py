"""Why a job waits, as a stored reason. Its text stays the same while nothing changes, because each new one is a write.

Free resources, jobs ahead and the expected start are computed on request: see `why`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

from danlu.launch.ranktable.rules import LARGEST_DEVICE_ID, chip_of
from danlu.scheduler.policy.cluster import Cluster
from danlu.scheduler.policy.holdings import Limit
from danlu.scheduler.policy.node_state import NodeState
from danlu.scheduler.policy.shape import MEMORY, Need, Shape
from danlu.scheduler.ports import HOST_PORTS
from danlu.spec.messages.catalogue import say
from danlu.spec.nodes import NodeInfo
from danlu.spec.reasons import Reason, reason
from danlu.spec.units import show_size

MAX_SHOWN = 4


def no_room(cluster: Cluster, shape: Shape) -> Reason:
    """Why a job within its quota cannot be placed."""
    if cluster.fits_when_empty(shape):
        return no_capacity(shape, closed_nodes(cluster, shape))
    if cluster.fits_when_empty(shape, with_drained=True):
        return reason("drained", f"requests {shape}; {closed_nodes(cluster, shape)}")
    return no_such_node(shape, (node.info for node in cluster.nodes.values()))


@lru_cache(maxsize=10_000)
def no_capacity(shape: Shape, drained: str = "") -> Reason:
    apart = any(need.keeps_to_rings and need.devices > 1 for need in shape.needs)
    told = say("in_use_or_apart" if apart else "in_use", shape=shape)
    return reason("no_capacity", f"{told}; {drained}" if drained else told)


def no_ports() -> Reason:
    """A job without a private network fits, but all ports that the scheduler can give it are in use."""
    return reason("no_capacity", say("no_ports_left", first=HOST_PORTS[0], last=HOST_PORTS[-1]))


def drained_node(node: NodeState) -> str:
    assert node.drain is not None
    return say("node_drained", node=node.name, why=node.drain.reason)


def closed_nodes(cluster: Cluster, shape: Shape) -> str:
    """The drained nodes on which a task of the job would fit; empty when there is none."""
    closed = [node for node in cluster.nodes.values() if node.drain is not None and node.fits_when_empty(shape)]
    if len(closed) < 2:
        return "".join(map(drained_node, closed))
    more = f" and {len(closed) - MAX_SHOWN} more" if len(closed) > MAX_SHOWN else ""
    causes = dict.fromkeys(node.drain.reason for node in closed[:MAX_SHOWN] if node.drain is not None)
    nodes = ", ".join(node.name for node in closed[:MAX_SHOWN])
    return say("nodes_drained", nodes=nodes + more, why="; ".join(causes))


def no_such_node(shape: Shape, infos: Iterable[NodeInfo]) -> Reason:
    every = list(infos)
    shown = "; ".join(f"{_has(shape.needs, info)} on {info.name}" for info in islice(every, MAX_SHOWN))
    more = f"; and {len(every) - MAX_SHOWN} more nodes" if len(every) > MAX_SHOWN else ""
    engines = dict.fromkeys(info.engine for info in every)
    told = say("larger_than_nodes", shape=shape, nodes=shown + more)
    if len(engines) > 1 and shape.num_tasks > 1:
        told = say("one_engine", inner=told, engines=", ".join(engines))
    return reason("no_such_node", told)


def over_quota(limit: Limit) -> Reason:
    return _over_quota(limit.scope, limit.resource, limit.quota, limit.asked)


@lru_cache(maxsize=10_000)
def _over_quota(scope: str, resource: str, most: float, wanted: float) -> Reason:
    message = f"over_{scope}_quota" if wanted > most else f"{scope}_quota_used"
    return reason(f"quota_{scope}", say(message, asked=amount(resource, wanted), quota=amount(resource, most)))


def making_room(shape: Shape) -> Reason:
    return reason("making_room", say("making_room", shape=shape))


def reserved(shape: Shape) -> Reason:
    return reason("reserved", say("reserving", shape=shape))


def amount(resource: str, value: float) -> str:
    return f"{show_size(int(value))} memory" if resource == MEMORY else f"{value:g} {resource}"


def _usable(kind: str, needs: tuple[Need, ...], info: NodeInfo) -> int:
    """How many devices of a node one task could get: ids beyond those of a rank table do not count for NPU jobs."""
    return sum(
        1
        for device in info.devices
        if device.type == kind
        and not (
            all(need.keeps_to_rings for need in needs if need.type == kind)
            and device.id > LARGEST_DEVICE_ID[chip_of(device.model)]
        )
    )


def _has(needs: tuple[Need, ...], info: NodeInfo) -> str:
    amounts = []
    for kind in dict.fromkeys(need.type for need in needs if need.devices):
        count = sum(1 for device in info.devices if device.type == kind)
        models = {need.model for need in needs if need.type == kind and need.model}
        usable = _usable(kind, needs, info)
        told = f"{count} {kind}" if usable == count else f"{usable} {kind} that can be in a rank table (of {count})"
        have = sorted({device.model or "" for device in info.devices if device.type == kind} - {""})
        amounts.append(told + (f" ({', '.join(have)})" if models and have else ""))
    if any(need.cpus for need in needs):
        amounts.append(f"{info.cpus:g} cpus")
    if any(need.memory_bytes for need in needs):
        amounts.append(show_size(info.memory_bytes))
    amounts.append(f"{info.max_tasks} task slots")
    return ", ".join(amounts)
