"""Outgoing connections from a gang's private network, made by slirp4netns, a process outside of it.

Addresses of this machine, of the cluster's other nodes and of cloud metadata services get unreachable routes, which
jobs have no permission to change. The process ends with the gang's last shim: it watches a pipe that the shims hold
open.

The cluster may grow while a gang runs. The node's engine writes addresses to a file, one per line, and the gang's shims
check it once a second and block new ones.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import signal
import socket
import struct
import sys
from collections.abc import Collection, Sequence
from typing import NoReturn, Optional

from danlu.node.supervise import network

PROGRAM = "slirp4netns"
CIDR, NAME_SERVER = "10.87.0.0/24", "10.87.0.3"
METADATA = (
    ("169.254.0.0", 16),  # link-local: AWS, Azure, Google, Huawei, Tencent, OpenStack
    ("100.100.100.200", 32),  # Alibaba
    ("168.63.129.16", 32),  # Azure's own agent
    ("192.0.0.192", 32),  # Oracle
    ("fd00:ec2::", 32),  # AWS
    ("fd20:ce::254", 128),  # Google
    ("fd00:42::42", 128),  # Scaleway
)
"""Metadata services of clouds, which hand out the machine's credentials."""

READY_SECONDS = 5.0
_RTM_NEWROUTE, _RTN_UNREACHABLE, _RT_TABLE_MAIN, _RTPROT_STATIC, _RTA_DST = 24, 7, 254, 4, 1


class ClosedAddresses:
    """Addresses that a network must not reach, in addition to those blocked in every network."""

    def __init__(self, file: str) -> None:
        """`file`: written by the engine; empty: none."""
        self._file = file
        self._version: Optional[tuple[int, int]] = None
        self._closed: frozenset[str] = frozenset()
        self._problem = ""

    def close_new(self, net: network.Network) -> None:
        """Block addresses that were added since the last call. Raise OSError; the next call tries again."""
        if not self._file:
            return
        found = os.stat(self._file)
        version = found.st_ino, found.st_mtime_ns
        if version == self._version:
            return
        new = sorted(_read_closed(self._file) - self._closed)
        if new:
            _close_routes(net, _hosts(new))
        self._version, self._closed = version, self._closed.union(new)

    def keep(self, net: network.Network) -> None:
        """Call `close_new` from a shim: report an error once and continue; the shim calls this every second."""
        problem = ""
        try:
            self.close_new(net)
        except OSError as error:
            problem = f"new machines of the cluster are not closed yet: {error}"
        if problem and problem != self._problem:
            print(problem, file=sys.stderr, flush=True)
        self._problem = problem


def write_closed(path: str, addresses: Collection[str]) -> None:
    """Write the file of `ClosedAddresses`. One writer at a time."""
    with contextlib.suppress(FileNotFoundError):
        if _read_closed(path) == set(addresses):
            return
    fresh = f"{path}.{os.getpid()}.partial"
    with open(fresh, "w") as file:
        file.writelines(f"{address}\n" for address in sorted(addresses))
    os.replace(fresh, path)


def _read_closed(path: str) -> set[str]:
    with open(path) as file:
        return set(file.read().split())


def open_way_out(net: network.Network, program: str, *, closed: ClosedAddresses) -> int:
    """Start the process and return the descriptor that keeps it alive. Raise OSError when it does not start."""
    _close_routes(net, [*_hosts(own_addresses()), *METADATA])
    closed.close_new(net)
    watched, leash = os.pipe2(os.O_CLOEXEC)
    ready, say_ready = os.pipe2(os.O_CLOEXEC)
    if os.fork() == 0:
        _become(net, program, watched=watched, say_ready=say_ready)
    os.close(watched)
    os.close(say_ready)
    is_up = select.select([ready], [], [], READY_SECONDS)[0] and os.read(ready, 1) == b"1"
    os.close(ready)
    if not is_up:
        os.close(leash)
        raise OSError(f"{program} did not come up")
    return leash


def own_addresses() -> list[str]:
    """Return the IPv4 addresses of this machine from the kernel's routing table."""
    with open("/proc/net/fib_trie") as file:
        found = re.findall(r"\|-- (\d+\.\d+\.\d+\.\d+)\n\s+/32 host LOCAL", file.read())
    return sorted({address for address in found if not address.startswith("127.")})


def _become(net: network.Network, program: str, *, watched: int, say_ready: int) -> NoReturn:
    user = [] if net.user is None else [f"--userns-path=/proc/self/fd/{net.user}"]
    argv = [
        *(program, "--configure", "--mtu=65520", f"--cidr={CIDR}", "--disable-host-loopback"),
        *(f"--exit-fd={watched}", f"--ready-fd={say_ready}", *user),
        *("--netns-type=path", f"/proc/self/fd/{net.net}", "tap0"),
    ]
    try:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        for passed in (watched, say_ready, net.net, net.user):
            if passed is not None:
                os.set_inheritable(passed, True)
        os.execv(program, argv)
    finally:
        os._exit(1)


def _hosts(addresses: Sequence[str]) -> list[tuple[str, int]]:
    return [(address, 128 if ":" in address else 32) for address in addresses]


def _close_routes(net: network.Network, targets: Sequence[tuple[str, int]]) -> None:
    """Add missing routes from inside the network: the gang's other shims add them too.

    Done in a child, because a process cannot leave a user namespace again.
    """
    failed, fail = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        try:
            network.enter(net)
            has_ipv6 = os.path.exists("/proc/self/net/if_inet6")
            with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
                for address, length in targets:
                    if ":" not in address or has_ipv6:
                        _close_route(link, (address, length))
        except OSError as error:
            os.write(fail, str(error).encode()[:200])
        finally:
            os._exit(0)
    os.close(fail)
    with os.fdopen(failed, "rb") as file:
        problem = file.read().decode(errors="replace")
    os.waitpid(child, 0)
    if problem:
        raise OSError(problem)


def _close_route(link: socket.socket, target: tuple[str, int]) -> None:
    try:
        network.ask(link, _RTM_NEWROUTE, _route(*target), what=f"route to {target[0]}")
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise


def _route(address: str, length: int) -> bytes:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    head = struct.pack("BBBBBBBBI", family, length, 0, 0, _RT_TABLE_MAIN, _RTPROT_STATIC, 0, _RTN_UNREACHABLE, 0)
    return head + struct.pack("HH", 4 + len(packed), _RTA_DST) + packed
