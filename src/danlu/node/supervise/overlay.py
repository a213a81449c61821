"""Join the networks of a gang's parts on several nodes: one VXLAN device in each part, with the peers' addresses.

The device is created in the node's own network and moved into the gang's namespace. It sends UDP packets to the peers
through the node's network, unencrypted and without multicast. The kernel removes it with the namespace. Needs root.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Sequence

from danlu.node.supervise import linux, network
from danlu.node.supervise.network import attribute
from danlu.node.task import Overlay

INTERFACE = "gang0"
PORT = 4789
PREFIX_LENGTH = 16
"""All addresses of a gang are on one link: 10.88.0.0/16."""

HEADER_BYTES = 50
"""Overhead of VXLAN per packet."""

_SIOCGIFADDR, _SIOCGIFMTU = 0x8915, 0x8921
_RTM_NEWLINK, _RTM_NEWNEIGH = 16, 28
_IFLA_IFNAME, _IFLA_MTU, _IFLA_LINKINFO, _IFLA_NET_NS_FD = 3, 4, 18, 28
_INFO_KIND, _INFO_DATA = 1, 2
_VXLAN_ID, _VXLAN_LOCAL, _VXLAN_PORT = 1, 4, 15
_NDA_DST, _NDA_LLADDR = 1, 2
_AF_BRIDGE, _NUD_NOARP, _NUD_PERMANENT, _NTF_SELF = 7, 0x40, 0x80, 0x02
_NLM_F_APPEND = 0x800
_ANYBODY = bytes(6)


def join(net: network.Network, overlay: Overlay, *, addresses: Sequence[str]) -> None:
    """Connect the gang's namespace to its parts on other nodes, with these addresses. Raise OSError."""
    mtu = _mtu_of(interface_of(overlay.local)) - HEADER_BYTES
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        network.ask(link, _RTM_NEWLINK, _device(net, overlay, mtu=mtu), what=f"VXLAN {overlay.id}")
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        network.enter(net)
        try:
            _configure(overlay, addresses)
        finally:
            linux.enter_namespace(home)
    finally:
        os.close(home)


def interface_of(address: str) -> str:
    """Return this machine's network interface with this address. Raise OSError when there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(sock, _SIOCGIFADDR, struct.pack("256s", name.encode()))
            except OSError:
                continue
            if socket.inet_ntoa(answer[20:24]) == address:
                return name
    raise OSError(f"no network interface has the address {address}")


def _mtu_of(interface: str) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        answer = fcntl.ioctl(sock, _SIOCGIFMTU, struct.pack("16si12x", interface.encode(), 0))
    found: int = struct.unpack("16si12x", answer)[1]
    return found


def _configure(overlay: Overlay, addresses: Sequence[str]) -> None:
    """Inside the namespace: set addresses, bring the device up, and flood packets for unknown addresses to all
    peers."""
    index = socket.if_nametoindex(INTERFACE)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        for address in addresses:
            network.add_address(link, address, index=index, prefix_length=PREFIX_LENGTH)
        network.bring_up(INTERFACE)
        for peer in overlay.peers:
            network.ask(link, _RTM_NEWNEIGH, _peer(peer, index=index), what=f"peer {peer}", flags=_NLM_F_APPEND)


def _device(net: network.Network, overlay: Overlay, *, mtu: int) -> bytes:
    data = (
        attribute(_VXLAN_ID, struct.pack("I", overlay.id))
        + attribute(_VXLAN_LOCAL, socket.inet_aton(overlay.local))
        + attribute(_VXLAN_PORT, struct.pack(">H", PORT))
    )
    return (
        struct.pack("BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0)
        + attribute(_IFLA_IFNAME, INTERFACE.encode() + b"\0")
        + attribute(_IFLA_MTU, struct.pack("I", mtu))
        + attribute(_IFLA_NET_NS_FD, struct.pack("I", net.net))
        + attribute(_IFLA_LINKINFO, attribute(_INFO_KIND, b"vxlan") + attribute(_INFO_DATA, data))
    )


def _peer(address: str, *, index: int) -> bytes:
    head = struct.pack("BxHiHBB", _AF_BRIDGE, 0, index, _NUD_NOARP | _NUD_PERMANENT, _NTF_SELF, 0)
    return head + attribute(_NDA_LLADDR, _ANYBODY) + attribute(_NDA_DST, socket.inet_aton(address))
