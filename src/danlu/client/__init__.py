"""The SDK: `danlu.Client` and what it hands out."""

from __future__ import annotations

from danlu.client.client import Client as Client
from danlu.client.files.progress import Progress as Progress
from danlu.client.jobs.job import Job as Job
from danlu.client.jobs.logs import LogLine as LogLine

__all__ = ["Client", "Job", "LogLine", "Progress"]
