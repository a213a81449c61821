"""Where webhooks may go: to public addresses, and to the networks that the operator names.

Whoever adds a webhook has this server send requests. Without a look at the address they would reach what only this
machine reaches: its own services, those of its network, the metadata service of a cloud.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Union
from urllib.parse import urlsplit

from danlu.errors import InvalidInput

Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
Resolve = Callable[[str, int], Sequence[str]]
MAX_URL_CHARS = 2000
_WRAPPING = tuple(ipaddress.IPv6Network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"))
"""Networks whose addresses stand for addresses of IPv4: they would lead around the rules."""


@dataclass(frozen=True, slots=True)
class Destination:
    """An address that was looked at: the connection goes to it, whatever the name stands for a moment later."""

    scheme: str
    host: str
    port: int
    ip: str


def parse_networks(text: str) -> tuple[Network, ...]:
    """Networks separated by commas. Raise InvalidInput."""
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        told = f"expected networks such as 10.1.0.0/16, separated by commas, got {text!r} ({error})"
        raise InvalidInput(f"webhook_networks: {told}") from error


def check_url(url: str) -> None:
    """Refuse what can be seen to be wrong without looking up a name."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or len(url) > MAX_URL_CHARS:
        raise _refused(f"expected an address such as https://example.com/hook, got {url[:200]!r}")
    if any(ord(char) <= 32 or ord(char) == 127 for char in url):
        raise _refused("expected an address without spaces and control characters")
    if parts.username is not None or parts.password is not None:
        raise _refused("expected an address without a name and password in it; deliveries are signed instead")


def find_destination(url: str, networks: Sequence[Network], *, resolve: Resolve | None = None) -> Destination:
    """Look up the name, and refuse it when any of its addresses is not one that webhooks may go to. Blocks."""
    check_url(url)
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    found = [ipaddress.ip_address(text.partition("%")[0]) for text in (resolve or _resolve)(host, port)]
    if not found:
        raise _refused(f"{host!r} has no address")
    for address in found:
        is_listed = any(_plain(address) in network for network in networks)
        if not is_listed and not _is_public(address):
            raise _refused(f"{host!r} is at {address}, which is not a public address; admins can list its network")
        if not is_listed and parts.scheme != "https":
            raise _refused(f"expected https:// for {host!r}; plain http:// is for networks that admins list")
    return Destination(parts.scheme, host, port, str(found[0]))


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
        raise _refused(f"{host!r} cannot be looked up ({error})") from error


def _refused(told: str) -> InvalidInput:
    return InvalidInput(f"url: {told}", fields={"url": told})
