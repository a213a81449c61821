"""State of one node during a scheduling round: free resources, and the holdings of jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from danlu.scheduler.policy.shape import Need, Shape
from danlu.scheduler.policy.snapshot import Drain, FreeNode, RunningTask
from danlu.spec.devices import Device

NEVER = float("inf")
ALREADY = float("-inf")


class Holding:
    """What one job holds on one node."""

    __slots__ = ("cpus", "devices", "ends", "job_id", "memory_bytes", "num_tasks", "ports")

    def __init__(self, job_id: str, ends: float) -> None:
        self.job_id = job_id
        self.ends = ends
        """Unix time by which the job has ended; NEVER when it has no time limit."""
        self.devices: list[Device] = []
        self.cpus = 0.0
        self.memory_bytes = 0
        self.num_tasks = 0
        self.ports: tuple[int, ...] = ()

    def add(self, task: RunningTask) -> None:
        self.devices += task.devices
        self.cpus += task.cpus
        self.memory_bytes += task.memory_bytes
        self.num_tasks += 1
        if task.ports:
            self.ports += tuple(task.ports)


class Allocation(NamedTuple):
    """Resources of a node that are allocated to one task, or reserved for it."""

    node: NodeState
    need: Need
    devices: tuple[Device, ...]
    pending_ids: frozenset[int] = frozenset()
    """Ids of the devices that another job still holds."""


class NodeState:
    __slots__ = (
        "cpus",
        "drain",
        "ending",
        "free",
        "holdings",
        "index_groups",
        "info",
        "memory_bytes",
        "name",
        "num_free",
        "num_tasks",
        "number",
        "ports",
        "reserved_devices",
        "version",
    )

    def __init__(self, free_node: FreeNode, number: int) -> None:
        self.info = free_node.info
        self.name = free_node.info.name
        self.number = number
        self.drain: Drain | None = free_node.drain
        """Set when no new task may be placed here. Running jobs are still counted."""
        self.cpus = free_node.cpus
        self.memory_bytes = free_node.memory_bytes
        self.num_tasks = free_node.num_tasks
        self.free: dict[str, dict[int, Device]] = {device.type: {} for device in free_node.info.devices}
        for device in free_node.devices:
            self.free[device.type][device.id] = device
        self.num_free = len(free_node.devices)
        self.ports = Counter(free_node.ports)
        """Port of the node's own network -> how many tasks use it."""
        self.holdings: dict[str, Holding] = {}
        self.ending: dict[str, Holding] = {}
        """The holdings of jobs that are stopping."""
        self.reserved_devices: set[tuple[str, int]] = set()
        """Devices in use that are reserved for a waiting job."""
        self.version = 0
        self.index_groups: list[dict[str, NodeState]] = []

    def fit(self, need: Need, extra: list[Holding] | None = None) -> tuple[Device, ...] | None:
        """Devices that a task would get here once `extra` is free too; None when the task does not fit."""
        if self.drain is not None or (need.ports and not self._has_ports(need.ports, extra or ())):
            return None
        cpus, memory_bytes, num_tasks = self.cpus, self.memory_bytes, self.num_tasks
        for holding in extra or ():
            cpus += holding.cpus
            memory_bytes += holding.memory_bytes
            num_tasks += holding.num_tasks
        # reservations may make a sum negative, which does not matter to a task that requests none of it
        if num_tasks < 1 or (need.cpus and cpus < need.cpus):
            return None
        if need.memory_bytes and memory_bytes < need.memory_bytes:
            return None
        if not need.devices:
            return ()
        free = self.free.get(need.type)
        devices = list(free.values()) if free else []
        for holding in extra or ():
            devices += [
                device
                for device in holding.devices
                if device.type == need.type and (device.type, device.id) not in self.reserved_devices
            ]
        if len(devices) < need.devices:
            return None
        return need.choose(sorted(devices, key=_by_id))

    def is_of(self, engine: str | None) -> bool:
        """Whether the node belongs to this engine; always True for None."""
        return engine is None or self.info.engine == engine

    def _has_ports(self, ports: tuple[int, ...], extra: Sequence[Holding]) -> bool:
        released = Counter(port for holding in extra for port in holding.ports)
        return all(self.ports[port] <= released[port] for port in ports)

    def fits_when_empty(self, shape: Shape) -> bool:
        """Whether any task of the job would fit on this node if it were empty and not drained."""
        info = self.info
        return any(
            info.max_tasks > 0
            and info.cpus >= need.cpus
            and info.memory_bytes >= need.memory_bytes
            and (
                not need.devices
                or need.choose(sorted((device for device in info.devices if device.type == need.type), key=_by_id))
                is not None
            )
            for need in shape.needs
        )

    def allocate(self, need: Need, devices: tuple[Device, ...]) -> Allocation:
        """Allocate resources for a task. Devices that are still in use are listed as pending."""
        pending_ids = []
        for device in devices:
            if self.free[device.type].pop(device.id, None) is None:
                pending_ids.append(device.id)
                self.reserved_devices.add((device.type, device.id))
        self.num_free -= len(devices) - len(pending_ids)
        self.cpus -= need.cpus
        self.memory_bytes -= need.memory_bytes
        self.num_tasks -= 1
        if need.ports:
            self.ports.update(need.ports)
        self.version += 1
        return Allocation(self, need, devices, frozenset(pending_ids))

    def release(self, allocation: Allocation) -> None:
        for device in allocation.devices:
            if device.id in allocation.pending_ids:
                self.reserved_devices.discard((device.type, device.id))
            else:
                self.free[device.type][device.id] = device
                self.num_free += 1
        self.cpus += allocation.need.cpus
        self.memory_bytes += allocation.need.memory_bytes
        self.num_tasks += 1
        self.ports.subtract(allocation.need.ports)
        self.version += 1

    def put(self, holding: Holding) -> None:
        """Add the holding of a job. It must already be subtracted from the free amounts."""
        self.holdings[holding.job_id] = holding
        self.version += 1

    def remove(self, job_id: str) -> None:
        """Free what a job held, because it ended."""
        holding = self.holdings.pop(job_id)
        self.ending.pop(job_id, None)
        for device in holding.devices:
            self.free[device.type][device.id] = device
        self.num_free += len(holding.devices)
        self.cpus += holding.cpus
        self.memory_bytes += holding.memory_bytes
        self.num_tasks += holding.num_tasks
        self.ports.subtract(holding.ports)
        self.version += 1

    def recount(self) -> None:
        """Recompute what is free from the holdings, as for a new node. Nothing may be reserved."""
        holdings = self.holdings.values()
        taken = {(device.type, device.id) for holding in holdings for device in holding.devices}
        left = [device for device in self.info.devices if (device.type, device.id) not in taken]
        self.free = {device.type: {} for device in self.info.devices}
        for device in left:
            self.free[device.type][device.id] = device
        self.num_free = len(left)
        self.cpus = self.info.cpus - sum(holding.cpus for holding in holdings)
        self.memory_bytes = self.info.memory_bytes - sum(holding.memory_bytes for holding in holdings)
        self.num_tasks = self.info.max_tasks - sum(holding.num_tasks for holding in holdings)
        self.ports = Counter(port for holding in holdings for port in holding.ports)
        self.version += 1

    def ready(self, need: Need) -> tuple[float, int] | None:
        """When a task fits here if nothing new is placed, and how many jobs must end first; None: never."""
        extra = list(self.ending.values())
        if self.fit(need, extra) is not None:
            return ALREADY, 0
        others = sorted(
            (holding for holding in self.holdings.values() if holding.job_id not in self.ending), key=_by_end
        )
        for count, holding in enumerate(others, start=1):
            extra.append(holding)
            if self.fit(need, extra) is not None:
                return holding.ends, count
        return None

    def until_ready(self, need: Need) -> list[Holding]:
        """Holdings that must be released before a task fits, earliest end first."""
        found = self.ready(need)
        others = sorted(
            (holding for holding in self.holdings.values() if holding.job_id not in self.ending), key=_by_end
        )
        return [*self.ending.values(), *others[: found[1] if found is not None else 0]]


def _by_id(device: Device) -> int:
    return device.id


def _by_end(holding: Holding) -> tuple[float, str]:
    return holding.ends, holding.job_id
