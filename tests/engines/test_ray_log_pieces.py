"""Pieces of logs through Ray, where a slow node's come whole or not at all."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from danlu.engines.ray.log_pieces import LONGEST_BYTES, SHORTEST_BYTES, LogPieces
from danlu.engines.ray.messages import Answer, Call
from danlu.errors import EngineUnavailable

SECONDS = 0.02
LOG = b"a log of some length"


class Node:
    """What answers for an agent: the end of Ray's line, which is not ours."""

    def __init__(self) -> None:
        self.is_slow = False
        self.limits: list[int] = []

    def call(self, calls: Sequence[Call], seconds: float) -> list[Answer]:
        (call,) = calls
        _, offset, limit, _, way = call.arguments
        assert way is None
        self.limits.append(limit)
        if self.is_slow:
            threading.Event().wait(seconds)
            return [("unknown", None, "one does not answer")]
        piece: Any = LOG[offset : offset + limit]
        return [("done", (piece, len(piece), [(4, 1.0)]), "")]


def asked() -> Call:
    return Call("one", "read_log_piece", (("job", 1, 0, "one"), 2, LONGEST_BYTES, 0))


def test_a_piece_is_written_in_its_place(tmp_path: Path) -> None:
    target = tmp_path / "segment"
    target.write_bytes(b"before")
    found = LogPieces(Node().call, None).copy(asked(), (str(target), 6, 5), seconds=SECONDS)
    assert found == (5, [(4, 1.0)])
    assert target.read_bytes() == b"before" + LOG[2:7]


def test_pieces_of_a_slow_node_get_shorter_until_they_come_and_longer_again(tmp_path: Path) -> None:
    node = Node()
    pieces = LogPieces(node.call, None)
    target = (str(tmp_path / "segment"), 0, LONGEST_BYTES)
    node.is_slow = True
    for _ in range(10):
        with pytest.raises(EngineUnavailable):
            pieces.copy(asked(), target, seconds=SECONDS)
    assert node.limits[:3] == [LONGEST_BYTES, LONGEST_BYTES // 2, LONGEST_BYTES // 4]
    assert node.limits[-1] == SHORTEST_BYTES
    node.is_slow = False
    for _ in range(10):
        pieces.copy(asked(), target, seconds=1000 * SECONDS)
    assert node.limits[-1] == LONGEST_BYTES
