"""What the tasks of a job use, on the wire."""

from __future__ import annotations

from typing import Optional

from danlu.spec.states import TaskState
from danlu.wire.base import Answer


class UsageLine(Answer):
    """One quantity of one task, a value for each point of `at`; null where nothing was measured."""

    mean: list[Optional[float]]
    peak: list[Optional[float]]
    """The highest of what was measured around each point."""

    average: float
    """Over all of its time."""

    highest: float
    last: float


class TaskUsage(Answer):
    rank: int
    role: str
    node: str
    state: TaskState
    cpus: float
    """Cores that are reserved for it; 0: none are, and it takes what is idle."""

    memory_bytes: int
    """Memory that it may use at most; 0: no limit."""

    num_devices: int
    lines: dict[str, UsageLine]
    """`cpu` in cores, `memory` and `device_memory` in bytes, `read`, `written`, `received` and `sent` in bytes per
    second, `device` as the part of their time (0 to 1) that its devices are at work. What could not be measured is
    omitted. `received` and `sent` are of the network that all tasks of the job on the node share, and stand with
    the first of them."""


class UsageOut(Answer):
    job: str
    attempt: int
    """0: there is none yet."""

    num_attempts: int
    is_live: bool
    """Whether there may be more to come."""

    every_seconds: float
    """Interval between two measurements of a task; 0: nothing was measured."""

    at: list[float]
    """Seconds since 1970, the end of the stretch of time of each point: the same for all tasks."""

    tasks: list[TaskUsage]
