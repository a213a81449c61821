"""Ports for attempts: the same ones in every network of an attempt's own; on the machine's none is given twice."""

from __future__ import annotations

from collections.abc import Set

from danlu.launch import Placement

OWN_NETWORK_PORT = 23456
TASK_PORT = 2222
"""What TensorFlow's own examples use. Tasks in a network of their own have an address each, so one port will do."""

HOST_PORTS = range(23500, 32000)
"""Below those that Linux hands out by itself."""


def give_ports(num_tasks: int, *, has_own_network: bool, in_use: Set[int]) -> tuple[int, tuple[int, ...]]:
    """Return the attempt's port, which is on task 0's address, and one for each task."""
    if has_own_network:
        return OWN_NETWORK_PORT, (TASK_PORT,) * num_tasks
    free = (port for port in HOST_PORTS if port not in in_use)
    return next(free), tuple(next(free) for _ in range(num_tasks))


def all_ports(placement: Placement) -> set[int]:
    return {placement.master_port, *(task.port for task in placement.tasks)}
