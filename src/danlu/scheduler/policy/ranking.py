"""Nodes ordered by how well they suit a task. After a change only the changed nodes are rated again."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any

from danlu.scheduler.policy.node_state import NodeState

Key = tuple[Any, ...]
"""How well a node suits: smaller is better."""

Rating = Callable[[NodeState], "Key | None"]


class NodeRanking:
    """A heap of nodes. A node whose rating is None is left out."""

    def __init__(self, rate: Rating, nodes: Iterable[NodeState]) -> None:
        self._rate = rate
        self._heap: list[tuple[Key, int, int, NodeState]] = []
        self._sweep_at = 1000
        self.changed: set[NodeState] = set(nodes)
        """Nodes to rate again; code that changes a node adds it here."""

    def pop(self) -> tuple[Key, NodeState] | None:
        """Remove and return the best node. It returns to the ranking when it is added to `changed`."""
        self._rate_changed()
        while self._heap:
            key, _, version, node = heapq.heappop(self._heap)
            if node.version == version:
                return key, node
        return None

    def _rate_changed(self) -> None:
        if not self.changed:
            return
        for node in self.changed:
            key = self._rate(node)
            if key is not None:
                heapq.heappush(self._heap, (key, node.number, node.version, node))
        self.changed.clear()
        if len(self._heap) > self._sweep_at:
            self._sweep()

    def _sweep(self) -> None:
        """Drop outdated entries."""
        current = {item[3].number: item for item in self._heap if item[3].version == item[2]}
        self._heap = list(current.values())
        heapq.heapify(self._heap)
        self._sweep_at = 1000 + 3 * len(self._heap)
