"""The best rooms for a need, kept up to date: after a change only the rooms that changed are looked at again."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any

from danlu.scheduler.policy.room import Room

Key = tuple[Any, ...]
"""What makes one room better than another: smaller is better."""

Rate = Callable[[Room], "Key | None"]


class Offers:
    """Rooms by how good they are; None of the rating leaves a room out."""

    def __init__(self, rate: Rate, rooms: Iterable[Room]) -> None:
        self._rate = rate
        self._heap: list[tuple[Key, int, int, Room]] = []
        self._sweep_at = 1000
        self.changed: set[Room] = set(rooms)
        """Rooms to look at again; whoever changes a room adds it here."""

    def pop(self) -> tuple[Key, Room] | None:
        """Take out the best room. It comes back when it changes, or is added to `changed`."""
        self._look()
        while self._heap:
            key, _, version, room = heapq.heappop(self._heap)
            if room.version == version:
                return key, room
        return None

    def _look(self) -> None:
        if not self.changed:
            return
        for room in self.changed:
            key = self._rate(room)
            if key is not None:
                heapq.heappush(self._heap, (key, room.number, room.version, room))
        self.changed.clear()
        if len(self._heap) > self._sweep_at:
            self._sweep()

    def _sweep(self) -> None:
        """Throw out what is not true any more."""
        current = {item[3].number: item for item in self._heap if item[3].version == item[2]}
        self._heap = list(current.values())
        heapq.heapify(self._heap)
        self._sweep_at = 1000 + 3 * len(self._heap)
