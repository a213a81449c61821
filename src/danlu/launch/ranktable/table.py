"""A rank table as data, independent of the shape that it is written in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RankedDevice:
    device_id: int
    """Physical id on its server."""

    device_ip: str
    """Address of the device's own network card; empty if not known. A table of one server does not need it."""

    rank_id: int
    super_device: str = ""
    """Its number in the super pod of its server."""


@dataclass(frozen=True, slots=True)
class Server:
    server_id: str
    pod_name: str
    """Name of the task in shape C, and `RANK_ID` of TensorFlow's processes there."""

    devices: tuple[RankedDevice, ...]
    super_pod: str = ""
    """Super pod that it is in; empty if it is in none or not known."""


@dataclass(frozen=True, slots=True)
class RankTable:
    servers: tuple[Server, ...]

    @property
    def servers_by_pod(self) -> dict[str, list[Server]]:
        """The servers of each super pod; empty if the table cannot be written as version 1.2.

        That version requires a super pod for every server, the same number of servers in each, and a unique number for
        every device of a super pod.
        """
        pods: dict[str, list[Server]] = {}
        for server in self.servers:
            pods.setdefault(server.super_pod, []).append(server)
        numbers = [(server.super_pod, device.super_device) for server in self.servers for device in server.devices]
        are_known = all(pod and number for pod, number in numbers) and len(set(numbers)) == len(numbers)
        return pods if are_known and len({len(servers) for servers in pods.values()}) == 1 else {}

    @property
    def num_devices(self) -> int:
        return sum(len(server.devices) for server in self.servers)
