"""Allowed addresses of webhooks: public ones, and the networks that the operator names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from danlu.errors import InvalidInput
from danlu.transfer import addresses
from danlu.transfer.addresses import AddressRefused, find_address

Network = addresses.Network
Resolve = addresses.Resolve

MAX_URL_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Destination:
    """An address that was checked. Connections go to it even if the name resolves to another one later."""

    scheme: str
    host: str
    port: int
    ip: str


def parse_networks(text: str) -> tuple[Network, ...]:
    """Networks separated by commas. Raise InvalidInput."""
    try:
        return addresses.parse_networks(text)
    except ValueError as error:
        raise InvalidInput(f"webhook_networks: {error}") from error


def check_url(url: str) -> None:
    """Reject what is invalid without a lookup of the name."""
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
    """Look up the name, and reject it when any of its addresses is not allowed. Blocks."""
    check_url(url)
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        ip, is_listed = find_address(host, port, networks=networks, resolve=resolve)
    except AddressRefused as error:
        raise _refused(str(error)) from error
    if not is_listed and parts.scheme != "https":
        raise _refused(f"expected https:// for {host!r}; plain http:// is for networks that admins list")
    return Destination(parts.scheme, host, port, ip)


def _refused(told: str) -> InvalidInput:
    return InvalidInput(f"url: {told}", fields={"url": told})
