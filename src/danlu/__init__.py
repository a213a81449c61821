"""Danlu (丹炉): an open training platform."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from danlu.client import Client as Client
    from danlu.client import Job as Job
    from danlu.errors import DanluError as DanluError
    from danlu.inside import inside_job as inside_job
    from danlu.preemption import preempted as preempted
    from danlu.spec.job import JobSpec as JobSpec

__version__ = "0.1.0"

# loaded on first use, so that `import danlu` stays cheap in a training process
_HOMES = {
    "Client": "danlu.client",
    "Job": "danlu.client",
    "DanluError": "danlu.errors",
    "JobSpec": "danlu.spec.job",
    "inside_job": "danlu.inside",
    "preempted": "danlu.preemption",
}
__all__ = ["Client", "DanluError", "Job", "JobSpec", "__version__", "inside_job", "preempted"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'danlu' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
