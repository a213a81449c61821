"""Changes of a list, by look."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

KEPT_BYTES = 4 << 20
KEPT_SECONDS = 60.0
PIECE_BYTES = 64 << 10


@dataclass(frozen=True)
class Change:
    """An event about one row."""

    event: bytes
    project_id: int = 0


@dataclass(frozen=True)
class Round:
    number: int
    at: float
    """Of time.monotonic."""

    changes: Mapping[str, Change]
    """Row id -> its change."""

    size: int


@dataclass
class Rounds:
    """The last rounds, with what followers that are behind have missed. Followers that need older ones start over."""

    number: int = 0
    """Of the newest round."""

    _kept: deque[Round] = field(default_factory=deque)
    _size: int = 0

    def add(self, changes: Mapping[str, Change]) -> Round:
        self.number += 1
        made = Round(self.number, time.monotonic(), changes, sum(len(change.event) for change in changes.values()))
        self._kept.append(made)
        self._size += made.size
        while self._size > KEPT_BYTES or self._kept[0].at < made.at - KEPT_SECONDS:
            self._size -= self._kept.popleft().size
            if not self._kept:
                break
        return made

    def since(self, number: int) -> dict[str, Change] | None:
        """What changed after a round, the newest of each row; None when that is no longer kept."""
        if number == self.number:
            return {}
        if not self._kept or self._kept[0].number > number + 1:
            return None
        return {row_id: change for one in self._kept if one.number > number for row_id, change in one.changes.items()}

    def before(self, seconds: float) -> int:
        """Number of the last round that is older than this."""
        begin = time.monotonic() - seconds
        return next((one.number - 1 for one in self._kept if one.at >= begin), self.number)


def in_pieces(events: Iterable[bytes]) -> Iterator[bytes]:
    """Join events to pieces of limited length: each piece waits for the one before to be sent."""
    piece = bytearray()
    for event in events:
        piece += event
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)
