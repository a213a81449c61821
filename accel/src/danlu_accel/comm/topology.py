"""Which ranks share a host: determined by asking every rank, not from names or the order of ranks."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from danlu_accel.comm.errors import TopologyError
from danlu_accel.comm.launcher import Launch


@dataclass(frozen=True)
class Topology:
    """Hosts as tuples of ranks in ascending order; hosts are ordered by their first rank."""

    hosts: tuple[tuple[int, ...], ...]
    rank: int
    reasons: tuple[str, ...] = ()

    @property
    def world_size(self) -> int:
        return sum(len(host) for host in self.hosts)

    @property
    def num_hosts(self) -> int:
        return len(self.hosts)

    @property
    def host_index(self) -> int:
        return next(index for index, host in enumerate(self.hosts) if self.rank in host)

    @property
    def local_ranks(self) -> tuple[int, ...]:
        return self.hosts[self.host_index]

    @property
    def local_index(self) -> int:
        return self.local_ranks.index(self.rank)

    @property
    def num_lanes(self) -> int:
        """Number of lanes: the size of the smallest host, as a lane has one rank of every host."""
        return min(len(host) for host in self.hosts)

    @property
    def is_even(self) -> bool:
        return len({len(host) for host in self.hosts}) == 1


@dataclass(frozen=True)
class RankReport:
    """What one rank reports about itself; every rank receives all reports."""

    host_key: str
    launch: Launch | None
    settings: str
    listener: str


def find_host_key() -> str:
    """Return an identifier of the memory and network of this process.

    A host name is not enough: containers and network namespaces on one machine may share it. The boot id
    distinguishes machines, the inode of the network namespace distinguishes containers on one machine.
    """
    boot = _read("/proc/sys/kernel/random/boot_id")
    try:
        network = str(os.stat("/proc/self/ns/net").st_ino)
    except OSError:
        network = "-"
    return f"{socket.gethostname()}/{boot}/{network}"


def build_topology(reports: Sequence[RankReport], rank: int, local_size: int | None) -> Topology:
    """Group ranks into hosts, with reasons. Pure. Raises TopologyError if ranks have different settings."""
    _require_equal_settings(reports)
    if local_size is not None:
        return Topology(_blocks(len(reports), local_size), rank, (f"hosts: {local_size} ranks each, as asked",))
    by_key: dict[str, list[int]] = {}
    for index, report in enumerate(reports):
        by_key.setdefault(report.host_key, []).append(index)
    hosts = tuple(tuple(ranks) for ranks in by_key.values())
    sizes = ", ".join(str(len(host)) for host in hosts)
    reasons = [f"hosts: {len(hosts)} with {sizes} ranks, found by machine, host name and network namespace"]
    reasons += _disagreements(reports, hosts)
    if any(_has_gap(host) for host in hosts):
        reasons.append("placement: ranks of one host are not consecutive (round-robin); grouped by host all the same")
    return Topology(hosts, rank, tuple(reasons))


def _disagreements(reports: Sequence[RankReport], hosts: Sequence[tuple[int, ...]]) -> list[str]:
    found = []
    for host in hosts:
        launch = reports[host[0]].launch
        if launch is None or launch.local_size is None:
            continue
        if launch.local_size != len(host):
            found.append(
                f"warning: {launch.launcher} says {launch.local_size} ranks share the host of rank {host[0]}, "
                f"{len(host)} do; trusting what was found"
            )
    if not found:
        launchers = {report.launch.launcher for report in reports if report.launch is not None}
        named = ", ".join(sorted(launchers))
        found.append(f"launcher: {named} agrees" if launchers else "launcher: none known, nothing to compare with")
    return found


def _require_equal_settings(reports: Sequence[RankReport]) -> None:
    for index, report in enumerate(reports):
        if report.settings != reports[0].settings:
            raise TopologyError(
                f"rank {index} attached with {report.settings}, rank 0 with {reports[0].settings}; "
                "give every rank the same settings, and attach models in the same order"
            )


def _blocks(world_size: int, local_size: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(start, min(start + local_size, world_size))) for start in range(0, world_size, local_size))


def _has_gap(host: tuple[int, ...]) -> bool:
    return host[-1] - host[0] + 1 != len(host)


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return "-"
