"""The request of a job in the form that placement uses. Equal requests are one object."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from danlu.launch.ranktable import rules
from danlu.spec.devices import Device
from danlu.spec.fields import Network
from danlu.spec.job import JobSpec, LaunchMode
from danlu.spec.roles import groups
from danlu.spec.units import show_size

CPUS, MEMORY, TASKS = "cpus", "memory", "tasks"
"""Resources that are counted in addition to device types."""


class Need(NamedTuple):
    """The request of one group: a number of tasks, and what each of them gets."""

    num_tasks: int
    type: str
    model: str | None
    devices: int
    """Devices per task; 0 for types that are not counted, such as cpu."""

    cpus: float
    memory_bytes: int
    keeps_to_rings: bool
    on_host_network: bool = False
    ports: tuple[int, ...] = ()
    """Fixed ports on the nodes' own network: two jobs with the same one do not share a node."""

    def choose(self, free: list[Device]) -> tuple[Device, ...] | None:
        """Choose devices for one task among the free ones of this type; None when they do not suffice."""
        if self.model is not None:
            free = [device for device in free if (device.model or "").startswith(self.model)]
        if len(free) < self.devices:
            return None
        if not self.keeps_to_rings:
            return tuple(free[: self.devices])
        for model in dict.fromkeys(device.model for device in free):
            same = {device.id: device for device in free if device.model == model}
            chosen = rules.choose(list(same), self.devices, rules.chip_of(model))
            if chosen is not None:
                return tuple(same[number] for number in chosen)
        return None

    def __str__(self) -> str:
        parts = [":".join(part for part in (self.type, self.model, str(self.devices or "")) if part)]
        if self.cpus:
            parts.append(f"{self.cpus:g} cpus")
        if self.memory_bytes:
            parts.append(show_size(self.memory_bytes))
        if self.ports:
            parts.append(f"port {', '.join(map(str, self.ports))}")
        return ", ".join(parts)


class Shape:
    """The requests of all groups of a job. Compared by identity: `shape_of` returns one object for equal requests."""

    __slots__ = ("demand", "needs", "num_tasks")

    def __init__(self, needs: tuple[Need, ...]) -> None:
        self.needs = needs
        self.num_tasks = sum(need.num_tasks for need in needs)
        self.demand: dict[str, float] = {TASKS: float(self.num_tasks)}
        """Resource -> total of all tasks."""
        for need in needs:
            for name, amount in ((need.type, need.devices), (CPUS, need.cpus), (MEMORY, need.memory_bytes)):
                if amount:
                    self.demand[name] = self.demand.get(name, 0.0) + amount * need.num_tasks

    def __str__(self) -> str:
        return " and ".join(f"{need.num_tasks} x ({need})" for need in self.needs)


def shape_of(spec: JobSpec) -> Shape:
    """The request of a job, cached."""
    is_ascend = spec.launch is LaunchMode.ASCEND
    on_host = spec.network is Network.HOST
    return _shape(
        tuple(
            Need(
                num_tasks=group.count,
                type=group.resources.device.type,
                model=group.resources.device.model,
                devices=group.resources.device.count if group.resources.device.is_scarce else 0,
                cpus=group.resources.cpus or 0.0,
                memory_bytes=group.resources.memory or 0,
                keeps_to_rings=is_ascend,
                on_host_network=on_host,
                ports=spec.ports if on_host else (),
            )
            for group in groups(spec)
        )
    )


@lru_cache(maxsize=100_000)
def _shape(needs: tuple[Need, ...]) -> Shape:
    return Shape(needs)
