"""Ports for attempts: the same ones in every network of an attempt's own; on the machine's none is given twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Set

OWN_NETWORK_PORT = 23456
TASK_PORT = 2222
"""What TensorFlow's own examples use. Tasks in a network of their own have an address each, so one port will do."""

HOST_PORTS = range(23500, 32000)
"""Below those that Linux hands out by itself."""


class Ports:
    """The free ports of networks that attempts share."""

    def __init__(self, in_use: Set[int] = frozenset()) -> None:
        self._coming = (port for port in HOST_PORTS if port not in in_use)
        self._next: deque[int] = deque()

    def are_left(self, num_tasks: int) -> bool:
        """Whether an attempt with so many tasks can have its ports."""
        while len(self._next) <= num_tasks and (port := next(self._coming, None)) is not None:
            self._next.append(port)
        return len(self._next) > num_tasks

    def take(self, num_tasks: int, *, has_own_network: bool) -> tuple[int, tuple[int, ...]]:
        """Return the attempt's port, which is on task 0's address, and one for each task."""
        if has_own_network:
            return OWN_NETWORK_PORT, (TASK_PORT,) * num_tasks
        if not self.are_left(num_tasks):
            raise LookupError("all ports are in use")
        return self._next.popleft(), tuple(self._next.popleft() for _ in range(num_tasks))
