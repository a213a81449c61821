"""The SDK: `danlu.Client` and the objects that it returns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from danlu.client.client import Client as Client
    from danlu.client.files.progress import Progress as Progress
    from danlu.client.jobs.job import Job as Job
    from danlu.client.jobs.logs import LogLine as LogLine

# imported on first use: processes that run beside a training only need the settings in this package
_HOMES = {
    "Client": "danlu.client.client",
    "Job": "danlu.client.jobs.job",
    "LogLine": "danlu.client.jobs.logs",
    "Progress": "danlu.client.files.progress",
}
__all__ = ["Client", "Job", "LogLine", "Progress"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'danlu.client' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
