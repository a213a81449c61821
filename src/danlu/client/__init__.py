"""The SDK: `danlu.Client` and what it hands out."""

from __future__ import annotations

from danlu.client.client import Client as Client
from danlu.client.job import Job as Job
from danlu.client.logs import LogLine as LogLine
from danlu.client.transfer import Progress as Progress

__all__ = ["Client", "Job", "LogLine", "Progress"]
