"""From places on nodes to the placement that is stored and planned with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from danlu.launch import Placement, TaskPlacement
from danlu.launch.placement import SANDBOX_ROOT
from danlu.scheduler.room import Taken

OWN_NETWORK_PORT = 23456
HOST_PORTS = range(23500, 32000)
LOOPBACK = "127.0.0.1"


class Ports:
    """Master ports on networks that attempts share."""

    def __init__(self, in_use: frozenset[int] = frozenset()) -> None:
        self._free: Iterator[int] = (port for port in HOST_PORTS if port not in in_use)
        self._ahead: int | None = None

    def are_left(self) -> bool:
        if self._ahead is None:
            self._ahead = next(self._free, None)
        return self._ahead is not None

    def take(self) -> int:
        if not self.are_left():
            raise LookupError("all ports are in use")
        port, self._ahead = self._ahead, None
        assert port is not None
        return port


def make_placement(job_id: str, attempt: int, taken: Sequence[Taken], ports: Ports) -> Placement:
    """Say where the tasks go, in rank order."""
    own_network = all(item.room.info.has_own_network for item in taken)
    tasks = tuple(
        TaskPlacement(
            rank=rank,
            node=item.room.name,
            address=own_address(rank) if own_network else LOOPBACK,
            device_ids=tuple(device.id for device in item.devices),
            device_model=item.devices[0].model if item.devices else None,
            device_ips=_ips(item),
            has_simulated_devices=any(device.is_simulated for device in item.devices),
            root=SANDBOX_ROOT
            if item.room.info.has_sandbox
            else f"{item.room.info.work_dir}/{job_id}/{attempt}/{rank}/ml",
        )
        for rank, item in enumerate(taken)
    )
    return Placement(tasks=tasks, master_port=OWN_NETWORK_PORT if own_network else ports.take(), interface="lo")


def own_address(rank: int) -> str:
    """The address of a task in the attempt's own network; every attempt has the same ones."""
    return f"10.88.{(rank + 1) >> 8}.{(rank + 1) & 255}"


def _ips(item: Taken) -> tuple[str, ...]:
    found = tuple(device.ip for device in item.devices if device.ip)
    return found if len(found) == len(item.devices) else ()
