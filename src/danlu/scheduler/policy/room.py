"""One node while a decision is made: what is free, what will be, and who holds the rest."""

from __future__ import annotations

from typing import NamedTuple

from danlu.scheduler.policy.shape import Need, Shape
from danlu.scheduler.policy.snapshot import Drain, FreeNode
from danlu.spec.devices import Device

NEVER = float("inf")
ALREADY = float("-inf")


class Held:
    """What one job holds on one node."""

    __slots__ = ("cpus", "devices", "ends", "job_id", "memory_bytes", "num_tasks")

    def __init__(self, job_id: str, ends: float) -> None:
        self.job_id = job_id
        self.ends = ends
        """Unix time; NEVER when nobody knows."""
        self.devices: list[Device] = []
        self.cpus = 0.0
        self.memory_bytes = 0
        self.num_tasks = 0

    def add(self, devices: tuple[Device, ...], cpus: float, memory_bytes: int) -> None:
        self.devices += devices
        self.cpus += cpus
        self.memory_bytes += memory_bytes
        self.num_tasks += 1


class Taken(NamedTuple):
    """A place that was given to a task, or is kept for one."""

    room: Room
    need: Need
    devices: tuple[Device, ...]
    later: frozenset[int] = frozenset()
    """Ids of those of the devices that another job still holds."""


class Room:
    __slots__ = (
        "coming",
        "cpus",
        "drain",
        "free",
        "held",
        "info",
        "memory_bytes",
        "name",
        "num_free",
        "num_tasks",
        "number",
        "promised",
        "spots",
        "version",
    )

    def __init__(self, node: FreeNode, number: int) -> None:
        self.info = node.info
        self.name = node.info.name
        self.number = number
        self.drain: Drain | None = node.drain
        """Set where nothing new may come, now or later; who runs there is told of all the same."""
        self.cpus = node.cpus
        self.memory_bytes = node.memory_bytes
        self.num_tasks = node.num_tasks
        self.free: dict[str, dict[int, Device]] = {device.type: {} for device in node.info.devices}
        for device in node.devices:
            self.free[device.type][device.id] = device
        self.num_free = len(node.devices)
        self.held: dict[str, Held] = {}
        self.coming: dict[str, Held] = {}
        """Those of `held` that have been told to end."""
        self.promised: set[tuple[str, int]] = set()
        """Devices in use that are kept for somebody."""
        self.version = 0
        self.spots: list[dict[str, Room]] = []

    def fit(self, need: Need, extra: list[Held] | None = None) -> tuple[Device, ...] | None:
        """The devices that a task would get here, once `extra` is free as well; None when it does not fit."""
        if self.drain is not None:
            return None
        cpus, memory_bytes, num_tasks = self.cpus, self.memory_bytes, self.num_tasks
        for held in extra or ():
            cpus += held.cpus
            memory_bytes += held.memory_bytes
            num_tasks += held.num_tasks
        # what is kept for others may have made a sum negative; who asks for none of it does not care
        if num_tasks < 1 or (need.cpus and cpus < need.cpus):
            return None
        if need.memory_bytes and memory_bytes < need.memory_bytes:
            return None
        if not need.devices:
            return ()
        free = self.free.get(need.type)
        devices = list(free.values()) if free else []
        for held in extra or ():
            devices += [
                device
                for device in held.devices
                if device.type == need.type and (device.type, device.id) not in self.promised
            ]
        if len(devices) < need.devices:
            return None
        return need.choose(sorted(devices, key=_by_id))

    def could_hold(self, shape: Shape) -> bool:
        """Whether the node, empty and open, has what any task of the job asks for."""
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

    def take(self, need: Need, devices: tuple[Device, ...]) -> Taken:
        """Give out a place; what is not free yet is noted as such."""
        later = []
        for device in devices:
            if self.free[device.type].pop(device.id, None) is None:
                later.append(device.id)
                self.promised.add((device.type, device.id))
        self.num_free -= len(devices) - len(later)
        self.cpus -= need.cpus
        self.memory_bytes -= need.memory_bytes
        self.num_tasks -= 1
        self.version += 1
        return Taken(self, need, devices, frozenset(later))

    def give_back(self, taken: Taken) -> None:
        for device in taken.devices:
            if device.id in taken.later:
                self.promised.discard((device.type, device.id))
            else:
                self.free[device.type][device.id] = device
                self.num_free += 1
        self.cpus += taken.need.cpus
        self.memory_bytes += taken.need.memory_bytes
        self.num_tasks += 1
        self.version += 1

    def put(self, held: Held) -> None:
        """A job holds something here, which has been taken."""
        self.held[held.job_id] = held
        self.version += 1

    def remove(self, job_id: str) -> None:
        """The job is gone."""
        held = self.held.pop(job_id)
        self.coming.pop(job_id, None)
        for device in held.devices:
            self.free[device.type][device.id] = device
        self.num_free += len(held.devices)
        self.cpus += held.cpus
        self.memory_bytes += held.memory_bytes
        self.num_tasks += held.num_tasks
        self.version += 1

    def ready(self, need: Need) -> tuple[float, int] | None:
        """When a task will fit here if nothing new comes, and how many jobs have to end for it; None: never."""
        extra = list(self.coming.values())
        if self.fit(need, extra) is not None:
            return ALREADY, 0
        others = sorted((held for held in self.held.values() if held.job_id not in self.coming), key=_by_end)
        for count, held in enumerate(others, start=1):
            extra.append(held)
            if self.fit(need, extra) is not None:
                return held.ends, count
        return None

    def until_ready(self, need: Need) -> list[Held]:
        """Those that have to end until a task fits, the first to end first."""
        found = self.ready(need)
        others = sorted((held for held in self.held.values() if held.job_id not in self.coming), key=_by_end)
        return [*self.coming.values(), *others[: found[1] if found is not None else 0]]


def _by_id(device: Device) -> int:
    return device.id


def _by_end(held: Held) -> tuple[float, str]:
    return held.ends, held.job_id
