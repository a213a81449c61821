"""A rank table as data, whatever shape it is written in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RankedDevice:
    device_id: int
    """The physical id on its server."""

    device_ip: str
    """The address of the chip's own network card; empty when it is not known, which one server can do without."""

    rank_id: int
    super_device: str = ""
    """Its number in the super pod of its server."""


@dataclass(frozen=True, slots=True)
class Server:
    server_id: str
    pod_name: str
    """What shape C calls the task; `RANK_ID` of TensorFlow's processes there."""

    devices: tuple[RankedDevice, ...]
    super_pod: str = ""
    """The super pod that it is in; empty when it is in none, or nobody knows."""


@dataclass(frozen=True, slots=True)
class RankTable:
    servers: tuple[Server, ...]

    @property
    def servers_by_pod(self) -> dict[str, list[Server]]:
        """The servers of each super pod; nothing unless that is a table of version 1.2.

        Every server is in a pod, equally many are in each, and no two devices of a pod have the same number.
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
