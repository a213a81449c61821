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


@dataclass(frozen=True, slots=True)
class Server:
    server_id: str
    pod_name: str
    """What shape C calls the task; `RANK_ID` of TensorFlow's processes there."""

    devices: tuple[RankedDevice, ...]


@dataclass(frozen=True, slots=True)
class RankTable:
    servers: tuple[Server, ...]

    @property
    def num_devices(self) -> int:
        return sum(len(server.devices) for server in self.servers)
