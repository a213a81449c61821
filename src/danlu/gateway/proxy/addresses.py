"""Limits connections per client address. Trusted proxies are exempt: they connect for many clients."""

from __future__ import annotations

from collections import Counter

from danlu.auth.throttle import network_of


class Addresses:
    def __init__(self, most: int = 0, trusted: frozenset[str] = frozenset()) -> None:
        """`most`: connections from one IPv4 address or IPv6 /64 network; 0: unlimited."""
        self._most, self._trusted = most, trusted
        self._held: Counter[str] = Counter()

    def take(self, address: str) -> bool:
        """Count one more connection; False when the limit is reached."""
        place = network_of(address)
        if self._most and address not in self._trusted and self._held[place] >= self._most:
            return False
        self._held[place] += 1
        return True

    def leave(self, address: str) -> None:
        place = network_of(address)
        self._held[place] -= 1
        if not self._held[place]:
            del self._held[place]
