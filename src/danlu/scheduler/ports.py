"""Ports for attempts: the same ones in every private network; on the host network each port is used once."""

from __future__ import annotations

from collections import deque
from collections.abc import Set

OWN_NETWORK_PORT = 23456
TASK_PORT = 2222
"""The port of TensorFlow's examples. In a private network each task has its own address, so one port suffices."""

HOST_PORTS = range(23500, 32000)
"""Below the ephemeral ports of Linux, which start at 32768."""


class Ports:
    """Free ports of the host network."""

    def __init__(self, in_use: Set[int] = frozenset()) -> None:
        self._coming = (port for port in HOST_PORTS if port not in in_use)
        self._next: deque[int] = deque()

    def are_left(self, num_tasks: int) -> bool:
        """Whether enough ports are free for an attempt with this many tasks."""
        while len(self._next) <= num_tasks and (port := next(self._coming, None)) is not None:
            self._next.append(port)
        return len(self._next) > num_tasks

    def take(self, num_tasks: int, *, has_own_network: bool) -> tuple[int, tuple[int, ...]]:
        """Take the attempt's port, on the address of task 0, and one port for each task."""
        if has_own_network:
            return OWN_NETWORK_PORT, (TASK_PORT,) * num_tasks
        if not self.are_left(num_tasks):
            raise LookupError("all ports are in use")
        return self._next.popleft(), tuple(self._next.popleft() for _ in range(num_tasks))
