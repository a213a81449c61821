"""Two hosts on one machine: network namespaces joined by one slow link."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BURST = "256kb"  # below 64 kb the kernel splits large packets, which doubles the cost per byte


@dataclass(frozen=True)
class Host:
    """A namespace, its end of the link, and its address."""

    namespace: str
    interface: str
    address: str

    def command(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.namespace, *words]


def require_root() -> None:
    """Exit with a clear message if namespaces cannot be created."""
    if os.geteuid() != 0:
        raise SystemExit(
            "comm_lab makes network namespaces and needs root: run it as root, or in a privileged container"
        )


@contextlib.contextmanager
def lab(rate: str) -> Iterator[tuple[Host, Host]]:
    """Create two hosts with a link of `rate` in each direction; removes everything at the end, even if interrupted."""
    name = f"dlab{os.getpid()}"
    hosts = tuple(
        Host(f"{name}-{index}", f"dl{index}-{os.getpid() % 100000}", f"10.77.41.{index + 1}") for index in (0, 1)
    )
    previous = {number: signal.signal(number, _interrupted) for number in INTERRUPTIONS}
    try:
        _build(hosts[0], hosts[1], rate)
        yield hosts[0], hosts[1]
    finally:
        for number in INTERRUPTIONS:
            signal.signal(number, signal.SIG_IGN)  # a second signal must not interrupt the cleanup
        for host in hosts:
            _remove(host)
        for number, handler in previous.items():
            signal.signal(number, handler)


def set_rate(hosts: tuple[Host, Host], rate: str) -> None:
    for host in hosts:
        shape = ["tc", "qdisc", "replace", "dev", host.interface, "root", "tbf"]
        _run(*host.command(*shape, "rate", rate, "burst", BURST, "latency", "50ms"))


def _build(first: Host, second: Host, rate: str) -> None:
    for host in (first, second):
        _run("ip", "netns", "add", host.namespace)
    ends = ["ip", "link", "add", first.interface, "netns", first.namespace, "type", "veth"]
    _run(*ends, "peer", "name", second.interface, "netns", second.namespace)
    for host in (first, second):
        _run(*host.command("ip", "address", "add", f"{host.address}/24", "dev", host.interface))
        _run(*host.command("ip", "link", "set", "lo", "up"))
        _run(*host.command("ip", "link", "set", host.interface, "up"))
    set_rate((first, second), rate)


def _remove(host: Host) -> None:
    """End all processes in the namespace, then delete it. Does nothing if it does not exist."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _processes(host):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + 5
        while _processes(host) and time.monotonic() < deadline:
            time.sleep(0.05)
    subprocess.run(["ip", "netns", "delete", host.namespace], check=False, capture_output=True)


def _processes(host: Host) -> list[int]:
    listed = subprocess.run(["ip", "netns", "pids", host.namespace], check=False, capture_output=True, text=True)
    return [int(pid) for pid in listed.stdout.split()]


def _run(*words: str) -> None:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"comm_lab: {' '.join(words)}: {done.stderr.strip()}")


def _interrupted(number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt(signal.Signals(number).name)
