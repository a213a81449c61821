"""Who starts now, where, and why the others wait. Pure: no I/O, no clock, no randomness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from danlu.launch import Placement, TaskPlacement
from danlu.launch.placement import SANDBOX_ROOT
from danlu.launch.ranktable import rules
from danlu.scheduler.ports import all_ports, give_ports
from danlu.scheduler.snapshot import Action, FreeNode, GiveUp, QueuedJob, Snapshot, Start, Wait
from danlu.spec.devices import Device
from danlu.spec.job import JobSpec, LaunchMode
from danlu.spec.reasons import Reason, reason
from danlu.spec.roles import groups
from danlu.spec.units import show_duration, show_size

LOOPBACK = "127.0.0.1"
CLOCK_SLACK_SECONDS = 1.0
"""Clocks of several servers may differ by this much."""


def decide(snapshot: Snapshot, now: datetime) -> list[Action]:
    """Serve the queue in order: all tasks of a job are placed, or none. A job that does not fit lets others pass."""
    actions: list[Action] = []
    nodes = snapshot.nodes
    ports = set(snapshot.ports_in_use)
    refused: dict[object, Reason] = {}
    for job in snapshot.queue:
        early = _not_yet(job, now)
        if early is not None:
            actions.append(early)
            continue
        shape = (job.spec.launch, *((group.count, group.resources) for group in groups(job.spec)))
        if shape in refused:  # the same request a moment ago did not fit either
            actions.append(Wait(job.id, refused[shape]))
            continue
        found = place(job, nodes, ports)
        if isinstance(found, Reason):
            refused[shape] = found
            actions.append(Wait(job.id, found))
            continue
        placement, nodes = found
        ports.update(all_ports(placement))
        actions.append(Start(job.id, placement))
    return actions


def next_deadline(snapshot: Snapshot, now: datetime) -> float:
    """Seconds until a job's pause ends or its patience does; infinite when no job has either ahead of it."""
    waits = [(job.not_before - now).total_seconds() for job in snapshot.queue if job.not_before is not None]
    waits += [
        job.spec.max_wait - (now - job.queued_at).total_seconds()
        for job in snapshot.queue
        if job.spec.max_wait is not None and job.attempt == 1
    ]
    # what is past was decided just now, and is no reason to look again
    return max(0.05, min((wait for wait in waits if wait > 0), default=float("inf")))


def place(
    job: QueuedJob, nodes: tuple[FreeNode, ...], ports_in_use: set[int]
) -> tuple[Placement, tuple[FreeNode, ...]] | Reason:
    """Return where the job's tasks go and what is left, or why they fit nowhere."""
    if not nodes:
        return reason("no_nodes")
    left = {node.info.name: node for node in nodes}
    chosen: list[tuple[FreeNode, tuple[Device, ...]]] = []
    for part in _alike(job.spec):
        for _ in range(part.nodes):
            used = {node.info.name for node, _ in chosen}
            candidates = [node for node in left.values() if _may_share(node, used) and _fits(part, node)]
            if not candidates:
                return _shortage(part, nodes if not chosen else tuple(left.values()))
            # spread over nodes first; then the fullest that fits, so that large gaps stay for large jobs
            best = min(candidates, key=lambda node: (node.info.name in used, len(node.devices), node.info.name))
            taken = _take(part, best)
            chosen.append((best, taken))
            left[best.info.name] = _without(part, best, taken)
    return _placement(job, chosen, ports_in_use), tuple(left.values())


def _not_yet(job: QueuedJob, now: datetime) -> Action | None:
    waited = (now - job.queued_at).total_seconds()
    if job.attempt == 1 and job.spec.max_wait is not None and waited > job.spec.max_wait:
        told = f"waited {show_duration(waited)}, longer than its max_wait of {show_duration(job.spec.max_wait)}"
        return GiveUp(job.id, reason("queue_timeout", told))
    # queued in the future: the clock was set back since, and says nothing about when the pause is over
    was_set_back = waited < -CLOCK_SLACK_SECONDS
    if job.not_before is not None and now < job.not_before and not was_set_back:
        told = f"attempt {job.attempt - 1} failed; the next one starts at {job.not_before:%H:%M:%S} UTC"
        return Wait(job.id, reason("retry_wait", told))
    return None


def _alike(spec: JobSpec) -> list[JobSpec]:
    """The job as several jobs whose nodes are alike, one for each group."""
    return [
        spec.model_copy(update={"nodes": group.count, "resources": group.resources, "roles": {}})
        for group in groups(spec)
    ]


def _may_share(node: FreeNode, used: set[str]) -> bool:
    return node.info.holds_many_tasks or node.info.name not in used


def _fits(spec: JobSpec, node: FreeNode) -> bool:
    asked = spec.resources
    return (
        node.num_tasks >= 1
        and node.cpus >= (asked.cpus or 0)
        and node.memory_bytes >= (asked.memory or 0)
        and (not asked.device.is_scarce or len(_take(spec, node)) == asked.device.count)
    )


def _matching(spec: JobSpec, devices: Sequence[Device]) -> list[Device]:
    asked = spec.resources.device
    return [device for device in devices if asked.covers(device)]


def _take(spec: JobSpec, node: FreeNode) -> tuple[Device, ...]:
    """The devices that the job gets of this node; fewer than it asks for when it does not fit."""
    count = spec.resources.device.count
    if not spec.resources.device.is_scarce:
        return ()
    free = sorted(_matching(spec, node.devices), key=lambda device: device.id)
    if spec.launch is not LaunchMode.ASCEND:
        return tuple(free[:count])
    for model in dict.fromkeys(device.model for device in free):
        same = {device.id: device for device in free if device.model == model}
        chosen = rules.choose(list(same), count, rules.chip_of(model))
        if chosen is not None:
            return tuple(same[number] for number in chosen)
    return ()


def _without(spec: JobSpec, node: FreeNode, taken: tuple[Device, ...]) -> FreeNode:
    return replace(
        node,
        devices=tuple(device for device in node.devices if device not in taken),
        cpus=node.cpus - (spec.resources.cpus or 0),
        memory_bytes=node.memory_bytes - (spec.resources.memory or 0),
        num_tasks=node.num_tasks - 1,
    )


def _placement(job: QueuedJob, chosen: list[tuple[FreeNode, tuple[Device, ...]]], ports_in_use: set[int]) -> Placement:
    own_network = all(node.info.has_own_network for node, _ in chosen)
    master_port, task_ports = give_ports(len(chosen), has_own_network=own_network, in_use=ports_in_use)
    tasks = tuple(
        TaskPlacement(
            rank=rank,
            node=node.info.name,
            address=own_address(rank) if own_network else LOOPBACK,
            port=task_ports[rank],
            device_ids=tuple(device.id for device in taken),
            device_model=taken[0].model if taken else None,
            device_ips=tuple(device.ip for device in taken if device.ip) if all(device.ip for device in taken) else (),
            device_uuids=tuple(one.uuid for one in taken if one.uuid) if all(one.uuid for one in taken) else (),
            has_simulated_devices=any(device.is_simulated for device in taken),
            root=SANDBOX_ROOT if node.info.has_sandbox else f"{node.info.work_dir}/{job.id}/{job.attempt}/{rank}/ml",
        )
        for rank, (node, taken) in enumerate(chosen)
    )
    return Placement(tasks=tasks, master_port=master_port, interface="lo")


def own_address(rank: int) -> str:
    """The address of a task in the attempt's own network; every attempt has the same ones."""
    return f"10.88.{(rank + 1) >> 8}.{(rank + 1) & 255}"


def _shortage(spec: JobSpec, nodes: tuple[FreeNode, ...]) -> Reason:
    asked = f"{spec.nodes} x ({_request(spec)})"
    empty = tuple(
        replace(
            node,
            devices=node.info.devices,
            cpus=node.info.cpus,
            memory_bytes=node.info.memory_bytes,
            num_tasks=node.info.max_tasks,
        )
        for node in nodes
    )
    if _room(spec, empty) < spec.nodes:
        return reason(
            "no_such_node",
            f"asks for {asked}, more than all nodes have when empty: {_offer(spec, empty)}; ask for less",
        )
    return reason("no_capacity", f"asks for {asked}; free now: {_offer(spec, nodes)}; the rest is in use")


def _room(spec: JobSpec, nodes: tuple[FreeNode, ...]) -> int:
    """How many tasks of the job these nodes could hold."""
    room = 0
    for node in nodes:
        left, here = node, 0
        while here < spec.nodes and _fits(spec, left) and (here == 0 or node.info.holds_many_tasks):
            left, here = _without(spec, left, _take(spec, left)), here + 1
        room += here
    return room


def _request(spec: JobSpec) -> str:
    asked = spec.resources
    parts = [str(asked.device)]
    if asked.cpus:
        parts.append(f"{asked.cpus:g} cpus")
    if asked.memory:
        parts.append(show_size(asked.memory))
    return ", ".join(parts)


def _offer(spec: JobSpec, nodes: tuple[FreeNode, ...]) -> str:
    asked = spec.resources
    shown = []
    for node in nodes[:4]:
        parts = [_free_devices(spec, node)] if asked.device.is_scarce else []
        if asked.cpus:
            parts.append(f"{node.cpus:g} cpus")
        if asked.memory:
            parts.append(show_size(node.memory_bytes))
        parts.append(f"{node.num_tasks} task slots")
        shown.append(f"{', '.join(parts)} on {node.info.name}")
    return "; ".join(shown) + (f"; and {len(nodes) - 4} more nodes" if len(nodes) > 4 else "")


def _free_devices(spec: JobSpec, node: FreeNode) -> str:
    asked = spec.resources.device
    count = len(_matching(spec, node.devices))
    apart = ", not in one ring" if count >= asked.count and len(_take(spec, node)) < asked.count else ""
    return f"{count} {asked.type}{apart}"
