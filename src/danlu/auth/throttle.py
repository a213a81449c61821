"""Delays after wrong passwords. Pure.

Three counts, each with free tries and then delays that double:

    pair      this name from this address    a user who mistypes their password
    name      this name from anywhere        guessing one user's password from many addresses
    address   any name from this address     guessing many users' passwords from one address

Only `pair` applies at an address where the user has signed in before, so that others cannot lock them out.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

FORGOTTEN_AFTER = timedelta(hours=1)
"""A count is reset after this long without a failure."""


@dataclass(frozen=True, slots=True)
class Limit:
    kind: str
    num_free: int
    longest_seconds: int


PAIR = Limit("pair", num_free=5, longest_seconds=300)
NAME = Limit("name", num_free=50, longest_seconds=900)
ADDRESS = Limit("address", num_free=30, longest_seconds=900)
REGISTER = Limit("register", num_free=10, longest_seconds=900)


@dataclass(frozen=True, slots=True)
class Count:
    """Failures so far."""

    limit: Limit
    key: str
    """Key in the database: a digest, since users type passwords into the name field by mistake."""

    count: int = 0
    last_at: datetime | None = None


def counts_for(name: str, address: str, *, is_familiar: bool) -> tuple[Count, ...]:
    """The counts that apply to a sign-in, whether or not the name exists."""
    place, person = network_of(address), name.strip().lower()
    pair = Count(PAIR, _key(PAIR, person, place))
    return (pair,) if is_familiar else (pair, Count(NAME, _key(NAME, person)), Count(ADDRESS, _key(ADDRESS, place)))


def count_for_registering(address: str) -> Count:
    return Count(REGISTER, _key(REGISTER, network_of(address)))


def is_current(count: Count, now: datetime) -> bool:
    """Whether it still applies. A count from the future was stored before the clock was set back, and does not."""
    return count.last_at is not None and timedelta(0) <= now - count.last_at < FORGOTTEN_AFTER


def wait_seconds(counts: Iterable[Count], now: datetime) -> int:
    """Seconds until the next try; 0: now."""
    return max((_wait(count, now) for count in counts), default=0)


def network_of(address: str) -> str:
    """The part of an address that identifies one client: all of IPv4, the /64 network of IPv6."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def _wait(count: Count, now: datetime) -> int:
    too_many = count.count - count.limit.num_free
    if too_many < 0 or count.last_at is None or not is_current(count, now):
        return 0
    pause = min(2 ** min(too_many, 20), count.limit.longest_seconds)
    left = (count.last_at + timedelta(seconds=pause) - now).total_seconds()
    return max(0, -int(-left // 1))


def _key(limit: Limit, *parts: str) -> str:
    return hashlib.sha256("\0".join((limit.kind, *parts)).encode("utf-8", "surrogatepass")).hexdigest()
