"""An engine with any number of nodes, to measure the server and its scheduler.

A command `sleep SECONDS` is simulated, in a time that may pass faster than real time. Any other command really runs on
this machine, whatever its node.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from danlu.engines.base import Credentials, EngineSettings, Handle, NodeInfo, Observation, UsagePiece
from danlu.engines.local import LocalEngine
from danlu.errors import Unsupported
from danlu.launch import Plan, TaskPlan
from danlu.spec.devices import Device
from danlu.spec.states import TaskState

NUM_NODES, SPEED = "DANLU_SIMULATED_NODES", "DANLU_SIMULATED_SPEED"
"""Variables with the number of nodes, and the number of simulated seconds per second."""

SIGTERM_CODE = 128 + 15


@dataclass
class _Task:
    begun_at: float
    ends_at: float
    running: Observation
    """Its observation until it ends."""

    stopped_at: float | None = None


class SimulatedEngine(LocalEngine):
    """Simulated tasks have no files, so their logs and usage are empty."""

    name: ClassVar[str] = "simulated"

    @classmethod
    def create(cls, settings: EngineSettings) -> SimulatedEngine:
        num_nodes, speed = int(os.environ.get(NUM_NODES, "10")), float(os.environ.get(SPEED, "1"))
        return cls(settings, num_nodes=num_nodes, speed=speed)

    def __init__(self, settings: EngineSettings, *, num_nodes: int, speed: float = 1.0) -> None:
        """Nodes are copies of this machine, with eight simulated NPUs each if it has no devices."""
        super().__init__(settings)
        self._speed = speed
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._tasks: dict[tuple[str, int], dict[int, _Task]] = {}
        (like,) = super().nodes()
        devices = like.devices or tuple(Device(type="npu", model="910b", id=n, is_simulated=True) for n in range(8))
        self._nodes = [
            like.model_copy(update={"name": f"node-{number:05}", "devices": devices}) for number in range(num_nodes)
        ]

    def nodes(self) -> Sequence[NodeInfo]:
        return self._nodes

    def start(self, plan: Plan, credentials: Credentials) -> Sequence[Handle]:
        seconds = [_seconds(task) for task in plan.tasks]
        if any(one is None for one in seconds):
            return super().start(plan, credentials)
        now = self._now()
        running = Observation(state=TaskState.RUNNING, started_at=time.time())
        with self._lock:
            tasks = self._tasks.setdefault((plan.job_id, plan.attempt), {})
            for task, long in zip(plan.tasks, seconds, strict=True):
                tasks.setdefault(task.rank, _Task(now, now + (long or 0.0), running))
        return [Handle(job_id=plan.job_id, attempt=plan.attempt, rank=task.rank, node=task.node) for task in plan.tasks]

    def poll(self, handles: Sequence[Handle]) -> Sequence[Observation | None]:
        now = self._now()
        with self._lock:
            found = [self._tasks.get((one.job_id, one.attempt), {}).get(one.rank) for one in handles]
        real = [handle for handle, task in zip(handles, found, strict=True) if task is None]
        seen = iter(super().poll(real))
        return [next(seen) if task is None else self._observe(task, now) for task in found]

    def read_usages(self, asked: Sequence[tuple[Handle, int, int]]) -> Sequence[UsagePiece | None]:
        return [None if self._find(one[0]) is not None else self.read_usage(*one) for one in asked]

    def stop(self, handles: Sequence[Handle], grace_seconds: float) -> None:
        now = self._now()
        for handle in handles:
            task = self._find(handle)
            if task is not None and task.stopped_at is None and now < task.ends_at:
                task.stopped_at = now
        super().stop([handle for handle in handles if self._find(handle) is None], grace_seconds)

    def connect(self, handle: Handle, port: int) -> socket.socket:
        if self._find(handle) is not None:
            raise Unsupported("a simulated task has no ports")
        return super().connect(handle, port)

    def forget(self, job_id: str, attempt: int) -> None:
        with self._lock:
            was_simulated = self._tasks.pop((job_id, attempt), None) is not None
        if not was_simulated:
            super().forget(job_id, attempt)

    def leftovers(self) -> Sequence[tuple[str, int]]:
        with self._lock:
            return [*self._tasks, *super().leftovers()]

    def _now(self) -> float:
        return (time.monotonic() - self._begun) * self._speed

    def _find(self, handle: Handle) -> _Task | None:
        with self._lock:
            return self._tasks.get((handle.job_id, handle.attempt), {}).get(handle.rank)

    def _observe(self, task: _Task, now: float) -> Observation:
        ended = task.stopped_at if task.stopped_at is not None else task.ends_at
        if now < ended:
            return task.running
        state, code = (TaskState.SUCCEEDED, 0) if task.stopped_at is None else (TaskState.STOPPED, SIGTERM_CODE)
        started_at = task.running.started_at or 0.0
        ended_at = max(started_at, time.time() - (now - ended) / self._speed)
        return Observation(state=state, exit_code=code, started_at=started_at, ended_at=ended_at)


def _seconds(task: TaskPlan) -> float | None:
    """Duration of a simulated command; None for one that really runs."""
    words = task.command[-1].split() if task.command[:-1] in (("/bin/bash", "-c"), ("/bin/sh", "-c")) else task.command
    if len(words) != 2 or words[0] != "sleep":
        return None
    try:
        return float(words[1])
    except ValueError:
        return None
