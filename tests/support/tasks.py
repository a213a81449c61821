"""Descriptions of tasks for tests of what runs on a node."""

from __future__ import annotations

from typing import Any

from danlu.node.task import Task

_NEEDED: dict[str, Any] = {
    "name": "job-1-0",
    "wrap": (),
    "init": (),
    "command": ("true",),
    "env": {},
    "workdir": "/",
    "server_url": "http://127.0.0.1:9",
    "in_patience_seconds": 10.0,
    "out_patience_seconds": 10.0,
    "grace_seconds": 1.0,
}


def make_task(**fields: Any) -> Task:
    return Task(**{**_NEEDED, **fields})
