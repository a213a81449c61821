"""How many connections come from one address. Behind a proxy that is trusted, all of them come from there."""

from __future__ import annotations

from collections import Counter

from danlu.auth.throttle import network_of


class Addresses:
    def __init__(self, most: int = 0, trusted: frozenset[str] = frozenset()) -> None:
        """`most` for one address, or one /64 network of IPv6; 0: any number."""
        self._most, self._trusted = most, trusted
        self._held: Counter[str] = Counter()

    def take(self, address: str) -> bool:
        """Count one more; False when there are too many already."""
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
