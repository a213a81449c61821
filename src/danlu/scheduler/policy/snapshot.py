"""Input and output of the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from danlu.launch import Placement
from danlu.scheduler.policy.holdings import Quotas
from danlu.scheduler.policy.shape import Shape, shape_of
from danlu.spec.devices import Device
from danlu.spec.job import JobSpec
from danlu.spec.nodes import NodeInfo
from danlu.spec.reasons import Reason


@dataclass(frozen=True, slots=True)
class QueuedJob:
    id: str
    spec: JobSpec
    attempt: int
    """Number of its next attempt."""

    queued_at: datetime
    not_before: datetime | None = None
    project_id: int = 0
    owner_id: int = 0

    @property
    def shape(self) -> Shape:
        return shape_of(self.spec)


@dataclass(frozen=True, slots=True)
class Drain:
    """No new task is placed on a drained node."""

    reason: str
    evicts: bool = False
    """Whether preemptible jobs are evicted from it."""


@dataclass(frozen=True, slots=True)
class FreeNode:
    """A node and what is free on it."""

    info: NodeInfo
    devices: tuple[Device, ...]
    cpus: float
    memory_bytes: int
    num_tasks: int
    """Number of tasks that can still be placed there."""

    drain: Drain | None = None
    ports: tuple[int, ...] = ()
    """Ports of the node's own network that tasks use; repeated if several do."""


@dataclass(frozen=True, slots=True)
class RunningTask:
    """What a task of a live attempt holds."""

    node: str
    devices: tuple[Device, ...] = ()
    cpus: float = 0.0
    memory_bytes: int = 0
    ports: frozenset[int] = frozenset()
    """Ports of the node's own network that it uses."""


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A live attempt."""

    id: str
    project_id: int
    owner_id: int
    started_at: datetime
    tasks: tuple[RunningTask, ...]
    is_preemptible: bool = False
    is_ending: bool = False
    """Whether it is stopping, so that what it holds will be free soon."""

    can_be_stopped: bool = True
    """Whether the engine has started it, so that it can be stopped."""

    ends_at: datetime | None = None
    """Latest end by its time limit; None without one."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    queue: tuple[QueuedJob, ...]
    nodes: tuple[FreeNode, ...]
    ports_in_use: frozenset[int] = field(default_factory=frozenset)
    """Ports of the nodes' own network that must not be allotted."""

    running: tuple[RunningJob, ...] = ()
    quotas: Quotas = field(default_factory=Quotas)
    names: Mapping[int, str] = field(default_factory=dict)
    """Project id -> name."""


@dataclass(frozen=True, slots=True)
class Start:
    job_id: str
    placement: Placement


@dataclass(frozen=True, slots=True)
class Evict:
    """Preempt a job, for another job or because its node is drained."""

    job_id: str
    for_job: str = ""
    is_same_project: bool = False
    drained: str = ""
    """The drained node and why; empty when it is for a job."""


@dataclass(frozen=True, slots=True)
class Wait:
    job_id: str
    why: Reason


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The job waited longer than its max_wait."""

    job_id: str
    why: Reason


Action = Start | Evict | Wait | GiveUp
