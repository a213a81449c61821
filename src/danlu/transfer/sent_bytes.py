"""Counts what was sent of one file."""

from __future__ import annotations

from collections.abc import Iterator

from danlu.transfer.carrier import Body, Sendable
from danlu.transfer.progress import Told


class SentBytes:
    """Reports sent bytes to a listener, and subtracts those that must be sent again."""

    def __init__(self, told: Told, path: str) -> None:
        self._told = told
        self._path = path
        self.num_bytes = 0

    def body(self, body: Body) -> Body:
        """The same bytes, counted from where the count is now each time they are sent."""
        before = self.num_bytes

        def pieces() -> Iterator[Sendable]:
            self.settle(before)
            for piece in body.pieces():
                yield piece
                self._add(len(piece), has_travelled=True)

        return Body(body.size, pieces)

    def settle(self, num_bytes: int) -> None:
        """It is known how much has arrived."""
        if num_bytes != self.num_bytes:
            self._add(num_bytes - self.num_bytes, has_travelled=False)

    def _add(self, num_bytes: int, *, has_travelled: bool) -> None:
        self.num_bytes += num_bytes
        self._told(self._path, num_bytes, has_travelled)
