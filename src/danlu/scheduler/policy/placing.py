"""Convert allocations on nodes to the placement of an attempt."""

from __future__ import annotations

from collections.abc import Sequence

from danlu.launch import Placement, TaskPlacement
from danlu.launch.placement import SANDBOX_ROOT
from danlu.scheduler.policy.node_state import Allocation
from danlu.scheduler.ports import Ports

LOOPBACK = "127.0.0.1"
GANG_INTERFACE = "gang0"
"""Network interface of a private network that spans nodes, in each task (`node/supervise/overlay.py`)."""


def make_placement(job_id: str, attempt: int, allocations: Sequence[Allocation], ports: Ports) -> Placement:
    """The placement of all tasks, in rank order."""
    spans_nodes = _spans_nodes(allocations)
    own_network = has_own_network(allocations)
    master_port, task_ports = ports.take(len(allocations), has_own_network=own_network)
    tasks = tuple(
        TaskPlacement(
            rank=rank,
            node=item.node.name,
            address=own_address(rank) if own_network else item.node.info.address or LOOPBACK,
            interface="" if own_network else item.node.info.interface,
            port=task_ports[rank],
            device_ids=tuple(device.id for device in item.devices),
            device_model=item.devices[0].model if item.devices else None,
            device_ips=_if_all([device.ip for device in item.devices]),
            device_uuids=_if_all([device.uuid for device in item.devices]),
            super_pod=_if_same([device.super_pod for device in item.devices]),
            super_devices=_if_all([device.super_device for device in item.devices]),
            has_simulated_devices=any(device.is_simulated for device in item.devices),
            root=SANDBOX_ROOT
            if item.node.info.has_sandbox
            else f"{item.node.info.work_dir}/{job_id}/{attempt}/{rank}/ml",
        )
        for rank, item in enumerate(allocations)
    )
    interface = "lo" if not spans_nodes else GANG_INTERFACE if own_network else ""
    return Placement(tasks=tasks, master_port=master_port, has_own_network=own_network, interface=interface)


def has_own_network(allocations: Sequence[Allocation]) -> bool:
    """Whether the tasks get a private network there. Without one they need ports of the nodes' network."""
    spans_nodes = _spans_nodes(allocations)
    return not allocations[0].need.on_host_network and all(
        item.node.info.has_own_network and (item.node.info.joins_networks or not spans_nodes) for item in allocations
    )


def _spans_nodes(allocations: Sequence[Allocation]) -> bool:
    return len({item.node.name for item in allocations}) > 1


def own_address(rank: int) -> str:
    """The address of a task in the private network of its attempt; all attempts use the same addresses."""
    return f"10.88.{(rank + 1) >> 8}.{(rank + 1) & 255}"


def _if_all(values: Sequence[str | None]) -> tuple[str, ...]:
    """All values; empty when some are missing, because a job cannot use an incomplete list."""
    known = tuple(value for value in values if value)
    return known if len(known) == len(values) else ()


def _if_same(values: Sequence[str | None]) -> str | None:
    """The common value; None when they differ or some are missing."""
    return values[0] if values and len(set(values)) == 1 else None
