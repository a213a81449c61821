"""The groups of equal tasks that a job consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union

from danlu.spec.job import JobSpec, Resources

WORKER = "worker"


@dataclass(frozen=True)
class Group:
    """Tasks with the same role, command and needs. Ranks count through the groups in their order."""

    role: str
    count: int
    resources: Resources
    command: Union[str, Sequence[str]]


def groups(spec: JobSpec) -> tuple[Group, ...]:
    """Return the job's groups in rank order; most jobs have one."""
    return (Group(WORKER, spec.nodes, spec.resources, spec.command),)
