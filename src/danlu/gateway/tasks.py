"""Running tasks as the gateway knows them, and connections to their ports."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import NamedTuple

from danlu.engines.base import CanConnect, Engine, Handle
from danlu.errors import Unsupported

Engines = Mapping[str, Engine]


class Task(NamedTuple):
    """A task that users enter."""

    job_id: str
    attempt: int
    rank: int
    node: str

    @property
    def handle(self) -> Handle:
        return Handle(**self._asdict())


class Target(NamedTuple):
    """A port of a task."""

    engine: str
    task: Task
    port: int
    service: str = ""
    """The service that Danlu starts when nothing answers; empty: the job runs its own program."""


class Admitted(NamedTuple):
    """A user who may use a port."""

    user_id: int
    target: Target


def connect(engines: Engines, target: Target) -> socket.socket:
    """Open a connection. Blocks. Raise what `CanConnect.connect` raises."""
    engine = engines.get(target.engine)
    if not isinstance(engine, CanConnect):
        raise Unsupported(f"engine {target.engine!r} cannot reach the ports of its tasks")
    return engine.connect(target.task.handle, target.port)
