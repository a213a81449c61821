"""The host names of endpoints: one label below a domain, so that one wildcard certificate is enough.

train-1700000000000-8080.localhost    ->    job train-1700000000000, endpoint 8080

At a bare IP address there are no names: the grant says which endpoint is meant.
"""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

_LABEL = re.compile(r"(train-[0-9]{1,20})-([a-z]{1,20}|[0-9]{1,5})")


class Place(NamedTuple):
    job_id: str
    endpoint: str


class Found(NamedTuple):
    """What a Host header refers to."""

    place: Place | None
    """None: the grant names it."""

    origin: str
    """Scheme, host and port, as browsers put them into the header Origin."""


class Names(Protocol):
    is_secure: bool

    def find(self, host: str) -> Found | None:
        """What a Host header refers to; None for all other names."""
        ...


class EndpointNames:
    def __init__(self, url: str) -> None:
        """`url` has an asterisk for the label: http://*.localhost:8401"""
        self._url = url
        self._domain = urlsplit(url).netloc.lower().removeprefix("*")
        self.is_secure = url.startswith("https://")

    def origin(self, place: Place) -> str:
        return self._url.replace("*", f"{place.job_id}-{place.endpoint}", 1).lower()

    def find(self, host: str) -> Found | None:
        given = host.lower()
        if not given.endswith(self._domain):
            return None
        found = _LABEL.fullmatch(given[: -len(self._domain)])
        if found is None:
            return None
        place = Place(found[1], found[2])
        return Found(place, self.origin(place))


class BareAddress:
    """Endpoints at a bare IP address. Host names are rejected: a foreign name may resolve to this server (DNS
    rebinding)."""

    is_secure = False

    def __init__(self, port: int) -> None:
        self._port = port

    def origin(self, host: str) -> str:
        return f"http://{host}:{self._port}"

    def find(self, host: str) -> Found | None:
        address = host.removesuffix(f":{self._port}")
        is_own = address != host and is_address(address)
        return Found(None, self.origin(address.lower())) if is_own else None


def is_address(host: str) -> bool:
    """Whether a host is an address: 10.0.0.5, [2001:db8::5]."""
    try:
        ipaddress.ip_address(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
    except ValueError:
        return False
    return ":" not in host or host.startswith("[")


def needs_bare(host: str) -> bool:
    """Whether a client that sends this Host header cannot use names: an IP address other than loopback."""
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return is_address(name) and not ipaddress.ip_address(name.strip("[]")).is_loopback
