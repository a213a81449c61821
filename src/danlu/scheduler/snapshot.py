"""What the policy looks at."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from danlu.launch import Placement
from danlu.spec.devices import Device
from danlu.spec.job import JobSpec
from danlu.spec.nodes import NodeInfo
from danlu.spec.reasons import Reason


@dataclass(frozen=True, slots=True)
class QueuedJob:
    id: str
    spec: JobSpec
    attempt: int
    """The number that its next attempt will have."""

    queued_at: datetime
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class FreeNode:
    """A node and what is left of it."""

    info: NodeInfo
    devices: tuple[Device, ...]
    cpus: float
    memory_bytes: int
    num_tasks: int
    """Tasks that could still be put there."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    queue: tuple[QueuedJob, ...]
    """In the order in which they are served."""

    nodes: tuple[FreeNode, ...]
    ports_in_use: frozenset[int] = field(default_factory=frozenset)
    """Ports of live attempts and of their tasks."""


@dataclass(frozen=True, slots=True)
class Start:
    job_id: str
    placement: Placement


@dataclass(frozen=True, slots=True)
class Wait:
    job_id: str
    why: Reason


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The job waited longer than it wanted to."""

    job_id: str
    why: Reason


Action = Start | Wait | GiveUp
