"""An engine without processes: the outermost edge of the scheduler, driven by hand."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

from danlu.engines.base import Credentials, Engine, EngineSettings, Handle, LogMark, NodeInfo, Observation, UsagePiece
from danlu.errors import PortClosed
from danlu.launch import Plan
from danlu.spec.states import TaskState, task_ended

Key = tuple[str, int, int]


@dataclass
class FakeTask:
    node: str
    state: TaskState = TaskState.STARTING
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    is_output_complete: bool = True
    log: bytearray = field(default_factory=bytearray)
    marks: list[LogMark] = field(default_factory=list)
    use: bytes = b""
    """The file of what it uses, of generation 0."""


class FakeEngine(Engine):
    """Remembers what it was asked to do; tasks change when a test says so."""

    name = "local"

    @classmethod
    def create(cls, settings: EngineSettings) -> FakeEngine:
        return cls([])

    def __init__(self, nodes: Sequence[NodeInfo]) -> None:
        self.infos = list(nodes)
        self.tasks: dict[Key, FakeTask] = {}
        self.plans: list[Plan] = []
        self.credentials: list[Credentials] = []
        self.stops: list[tuple[Key, float]] = []
        self.forgotten: list[tuple[str, int]] = []
        self.unreachable: set[str] = set()
        self.start_problems: list[Exception] = []
        """Raised by the next starts, one each."""

        self.ends_when_stopped = True
        self.ports: dict[tuple[str, int], int] = {}
        """(job, port in it) -> the port of this machine that stands for it."""

    def nodes(self) -> Sequence[NodeInfo]:
        return [info for info in self.infos if info.name not in self.unreachable]

    def connect(self, handle: Handle, port: int) -> socket.socket:
        if (handle.job_id, port) not in self.ports:
            raise PortClosed(f"nothing listens on port {port} in the task")
        return socket.create_connection(("127.0.0.1", self.ports[handle.job_id, port]))

    def start(self, plan: Plan, credentials: Credentials) -> Sequence[Handle]:
        if self.start_problems:
            raise self.start_problems.pop(0)
        self.plans.append(plan)
        self.credentials.append(credentials)
        for task in plan.tasks:
            self.tasks.setdefault((plan.job_id, plan.attempt, task.rank), FakeTask(task.node))
        return [Handle(job_id=plan.job_id, attempt=plan.attempt, rank=task.rank, node=task.node) for task in plan.tasks]

    def poll(self, handles: Sequence[Handle]) -> Sequence[Observation | None]:
        return [self._look(handle) for handle in handles]

    def read_log(self, handle: Handle, offset: int, limit: int) -> bytes:
        task = self.tasks.get(_key(handle))
        return bytes(task.log[offset : offset + limit]) if task is not None else b""

    def read_marks(self, handle: Handle, offset: int) -> Sequence[LogMark]:
        task = self.tasks.get(_key(handle))
        return [mark for mark in task.marks if mark.offset > offset] if task is not None else []

    def read_usage(self, handle: Handle, generation: int, offset: int) -> UsagePiece | None:
        task = self.tasks.get(_key(handle))
        start = offset if generation == 0 else 0
        return UsagePiece(0, start, task.use[start:]) if task is not None and task.use else None

    def stop(self, handles: Sequence[Handle], grace_seconds: float) -> None:
        for handle in handles:
            task = self.tasks.get(_key(handle))
            self.stops.append((_key(handle), grace_seconds))
            if self.ends_when_stopped and task is not None and not task_ended(task.state):
                task.state, task.exit_code, task.ended_at = TaskState.STOPPED, 143, 2000.0

    def forget(self, job_id: str, attempt: int) -> None:
        self.forgotten.append((job_id, attempt))

    def leftovers(self) -> Sequence[tuple[str, int]]:
        return sorted({(job, attempt) for job, attempt, _ in self.tasks} - set(self.forgotten))

    # what tests do to tasks

    def task(self, job_id: str, rank: int = 0, attempt: int = 1) -> FakeTask:
        return self.tasks[job_id, attempt, rank]

    def run(self, job_id: str, attempt: int = 1, *, at: float = 1000.0) -> None:
        """All commands of the attempt begin."""
        for (job, number, _), task in self.tasks.items():
            if (job, number) == (job_id, attempt):
                task.state, task.started_at = TaskState.RUNNING, at

    def finish(self, job_id: str, attempt: int = 1, *, code: int = 0) -> None:
        """All commands of the attempt end."""
        for job, number, rank in list(self.tasks):
            if (job, number) == (job_id, attempt):
                self.end(job_id, rank, attempt, code=code)

    def end(self, job_id: str, rank: int = 0, attempt: int = 1, *, code: int, at: float = 1500.0) -> None:
        task = self.task(job_id, rank, attempt)
        task.state = TaskState.SUCCEEDED if code == 0 else TaskState.FAILED
        task.exit_code, task.ended_at = code, at

    def lose(self, job_id: str, rank: int = 0, attempt: int = 1) -> None:
        """The shim is gone, and left no record."""
        task = self.task(job_id, rank, attempt)
        task.state, task.ended_at = TaskState.LOST, 1500.0

    def _look(self, handle: Handle) -> Observation | None:
        if handle.node in self.unreachable:
            return None
        task = self.tasks.get(_key(handle))
        if task is None:
            return Observation(state=TaskState.LOST)
        return Observation(
            state=task.state,
            exit_code=task.exit_code,
            reason=task.reason,
            message=task.message,
            started_at=task.started_at,
            ended_at=task.ended_at,
            is_output_complete=task.is_output_complete,
            log_bytes=len(task.log),
        )


def _key(handle: Handle) -> Key:
    return handle.job_id, handle.attempt, handle.rank
