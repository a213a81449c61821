"""The private network of a gang: a network namespace with one address per task, on `lo` and on `eth0`.

Traffic between the tasks goes through `lo`, whichever interface they name. `eth0` exists for scripts that name it, as
guides do (`btl_tcp_if_include eth0`); on kernels without veth there is only `lo`.

The namespace has no name and no mount. It lives as long as a process holds its descriptor or runs inside it, so the
kernel removes it with the gang's last shim, and a crash leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
from typing import NamedTuple, Optional

from danlu.node.supervise import linux

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_RTM_NEWLINK, _RTM_NEWADDR, _NLM_F_REQUEST, _NLM_F_ACK, _NLM_F_CREATE = 16, 20, 1, 4, 0x400
_NLMSG_ERROR, _IFA_ADDRESS, _IFA_LOCAL = 2, 1, 2
_IFLA_IFNAME, _IFLA_LINKINFO, _IFLA_INFO_KIND, _IFLA_INFO_DATA, _VETH_INFO_PEER = 3, 18, 1, 2, 1
OUTER, INNER = "eth0", "eth0-peer"
"""The two ends of a veth pair, both in the namespace. The second only exists to bring up the first."""


class Network(NamedTuple):
    """Descriptors of the namespaces. `user` is None when root created them."""

    net: int
    user: Optional[int]


def make_network(addresses: list[str]) -> Network:
    """Create a network with these addresses. Raise OSError when this machine does not permit it."""
    if os.geteuid() == 0:
        return _make_as_root(addresses)
    return _make_as_user(addresses)


def enter(network: Network) -> None:
    """Move this process into the network."""
    if network.user is not None:
        linux.enter_namespace(network.user)
    linux.enter_namespace(network.net)


def socket_inside(network: Network) -> socket.socket:
    """Return a new, unconnected TCP socket of that network. Raise OSError.

    A child creates it, because a process cannot leave a user namespace again. A socket stays in the network in which it
    was created.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if child == 0:
            try:
                enter(network)
                made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
                socket.send_fds(theirs, [b"ok"], [made.fileno()])
            except OSError as error:
                theirs.send(str(error).encode()[:200])
            finally:
                os._exit(0)
        theirs.close()
        told, descriptors, _, _ = socket.recv_fds(ours, 256, 1)
        os.waitpid(child, 0)
    if not descriptors:
        raise OSError(told.decode(errors="replace") or "the process that enters the job's network ended")
    return socket.socket(fileno=descriptors[0])


def _make_as_root(addresses: list[str]) -> Network:
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        linux.unshare(linux.CLONE_NEWNET)
        try:
            _bring_up(addresses)
            return Network(os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC), None)
        finally:
            linux.enter_namespace(home)
    finally:
        os.close(home)


def _make_as_user(addresses: list[str]) -> Network:
    """Create both in a child, because a process cannot leave a user namespace again; descriptors keep them alive."""
    told_parent, tell_parent = os.pipe()
    told_child, tell_child = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(tell_child)
        try:
            linux.enter_own_user_namespace(linux.CLONE_NEWNET)
            _bring_up(addresses)
            os.write(tell_parent, b"ok")
            os.read(told_child, 1)
        except OSError as error:
            os.write(tell_parent, str(error).encode()[:200])
        finally:
            os._exit(0)
    os.close(tell_parent)
    os.close(told_child)
    try:
        answer = os.read(told_parent, 256)
        if answer != b"ok":
            raise OSError(answer.decode(errors="replace") or "the process that makes the network ended")
        flags = os.O_RDONLY | os.O_CLOEXEC
        net = os.open(f"/proc/{child}/ns/net", flags)
        return Network(net, os.open(f"/proc/{child}/ns/user", flags))
    finally:
        os.close(tell_child)
        os.close(told_parent)
        os.waitpid(child, 0)


def _bring_up(addresses: list[str]) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        names = ["lo", *([OUTER] if _make_pair(link) else [])]
        for name in names:
            bring_up(name)
            index = socket.if_nametoindex(name)
            for address in addresses:
                add_address(link, address, index=index, prefix_length=32)


def _make_pair(link: socket.socket) -> bool:
    """Create `eth0` and bring it up. Return False when the kernel cannot."""
    peer = attribute(_VETH_INFO_PEER, _LINK + attribute(_IFLA_IFNAME, INNER.encode()))
    kind = attribute(_IFLA_INFO_KIND, b"veth") + attribute(_IFLA_INFO_DATA, peer)
    body = _LINK + attribute(_IFLA_IFNAME, OUTER.encode()) + attribute(_IFLA_LINKINFO, kind)
    try:
        ask(link, _RTM_NEWLINK, body, what=OUTER)
    except OSError:
        return False
    for name in (OUTER, INNER):
        with contextlib.suppress(OSError):  # otherwise IPv6 discovery between them counts as traffic of the job
            _write(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6", "1")
    bring_up(INNER)
    return True


def bring_up(interface: str) -> None:
    name = interface.encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        flags = struct.unpack("16sh14x", fcntl.ioctl(sock, _SIOCGIFFLAGS, struct.pack("16sh14x", name, 0)))[1]
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh14x", name, flags | _IFF_UP))


def add_address(link: socket.socket, address: str, *, index: int, prefix_length: int) -> None:
    packed = socket.inet_aton(address)
    attributes = b"".join(struct.pack("HH", 8, kind) + packed for kind in (_IFA_LOCAL, _IFA_ADDRESS))
    body = struct.pack("BBBBI", socket.AF_INET, prefix_length, 0, 0, index) + attributes
    ask(link, _RTM_NEWADDR, body, what=f"address {address}")


def ask(link: socket.socket, kind: int, body: bytes, *, what: str, flags: int = 0) -> None:
    """Send one rtnetlink request. Raise OSError when the kernel rejects it."""
    flags |= _NLM_F_REQUEST | _NLM_F_ACK | _NLM_F_CREATE
    link.send(struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body)
    answer = link.recv(4096)
    code = struct.unpack_from("i", answer, 16)[0]
    if struct.unpack_from("IHHII", answer)[1] != _NLMSG_ERROR or code != 0:
        raise OSError(-code, f"{what}: {os.strerror(-code)}")


_LINK = struct.pack("BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0)


def attribute(kind: int, value: bytes) -> bytes:
    size = 4 + len(value)
    return struct.pack("HH", size, kind) + value + bytes(-size % 4)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
