"""Which addresses others may have us connect to: public ones, and those of the networks that the operator names.

Whoever names an address has this machine send requests. Without a look at it they would reach what only this machine
reaches: its own services, those of its network, the metadata service of a cloud.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import Callable, Union

Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
Resolve = Callable[[str, int], Sequence[str]]
_WRAPPING = tuple(ipaddress.IPv6Network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"))
"""Networks whose addresses stand for addresses of IPv4: they would lead around the rules."""


class AddressRefused(Exception):
    """A name cannot be looked up, or stands for an address that is not for others."""


def parse_networks(text: str) -> tuple[Network, ...]:
    """Networks separated by commas. Raise ValueError."""
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        told = f"expected networks such as 10.1.0.0/16, separated by commas, got {text!r} ({error})"
        raise ValueError(told) from error


def find_address(
    host: str, port: int, *, networks: Sequence[Network], resolve: Resolve | None = None
) -> tuple[str, bool]:
    """The address to connect to, and whether its network is one of those listed. Blocks.

    Raise AddressRefused when any of the name's addresses is neither public nor listed. The connection has to go to the
    address that was looked at: the name may stand for another one a moment later.
    """
    found = [ipaddress.ip_address(text.partition("%")[0]) for text in (resolve or _resolve)(host, port)]
    if not found:
        raise AddressRefused(f"{host!r} has no address")
    is_listed = [any(_plain(address) in network for network in networks) for address in found]
    for address, is_one in zip(found, is_listed):
        if not is_one and not _is_public(address):
            raise AddressRefused(
                f"{host!r} is at {address}, which is not a public address; admins can list its network"
            )
    return str(found[0]), all(is_listed)


def _is_public(address: Address) -> bool:
    address = _plain(address)
    if isinstance(address, ipaddress.IPv6Address) and any(address in network for network in _WRAPPING):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _plain(address: Address) -> Address:
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped if isinstance(mapped, ipaddress.IPv4Address) else address


def _resolve(host: str, port: int) -> list[str]:
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        raise AddressRefused(f"{host!r} cannot be looked up ({error})") from error
