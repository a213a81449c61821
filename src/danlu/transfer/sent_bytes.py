"""Counts what was sent of one file."""

from __future__ import annotations

from collections.abc import Iterator

from danlu.transfer.carrier import Block, Body
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

        def blocks() -> Iterator[Block]:
            self.settle(before)
            for block in body.blocks():
                yield block
                self._add(len(block), has_travelled=True)

        return Body(body.size, blocks)

    def settle(self, num_bytes: int) -> None:
        """It is known how much has arrived."""
        if num_bytes != self.num_bytes:
            self._add(num_bytes - self.num_bytes, has_travelled=False)

    def _add(self, num_bytes: int, *, has_travelled: bool) -> None:
        self.num_bytes += num_bytes
        self._told(self._path, num_bytes, has_travelled)
