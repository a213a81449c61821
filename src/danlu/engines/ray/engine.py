"""The Ray engine: tasks on the nodes of a Ray cluster, where an agent on each node holds a `LocalEngine`."""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from danlu.engines.base import CONNECT_SECONDS as PORT_SECONDS
from danlu.engines.base import (
    Channel,
    CopiedLog,
    Credentials,
    Engine,
    EngineSettings,
    Handle,
    LogMark,
    NodeInfo,
    Observation,
    TerminalSize,
    UsagePiece,
)
from danlu.engines.ray.capacity import needs
from danlu.engines.ray.link import Link
from danlu.engines.ray.messages import Answer, Bundle, Call, fields_of, value_of
from danlu.engines.ray.ports import as_socket
from danlu.engines.ray.shells import RayChannel, command_of
from danlu.errors import EngineUnavailable, EngineUnreachable, InvalidInput, MissingExtra
from danlu.launch import Plan, TaskPlan
from danlu.node.task import Overlay
from danlu.spec.states import TaskState, task_ended

NAMESPACE = "danlu"
CONNECT_SECONDS = 90.0
ANSWER_SECONDS = 4.0
START_SECONDS = 12.0
START_PAUSE_SECONDS = 20.0
"""Pause before an attempt is started again when a node did not answer, so that other jobs get the scheduler's time."""

UNDO_SECONDS, UNDO_PAUSE_SECONDS = 5.0, 0.1
RESERVE_SECONDS = 2.0
HEAD_PAUSE_SECONDS = 10.0
"""Pause before the head is asked again when it did not answer."""

STOPPING_SECONDS = 30.0
"""More than a task needs to stop after its lease has expired."""

DEFAULT_NODE_DIR = Path("~/.danlu/nodes")
_Placed = TypeVar("_Placed", Handle, TaskPlan)


class RayEngine(Engine):
    name: ClassVar[str] = "ray"
    is_remote: ClassVar[bool] = True

    @classmethod
    def create(cls, settings: EngineSettings) -> RayEngine:
        engine = cls(settings)
        try:
            engine.nodes_within(CONNECT_SECONDS)
        except BaseException:  # no other reference to it exists that could end its process
            engine.close()
            raise
        return engine

    def __init__(self, settings: EngineSettings) -> None:
        if find_spec("ray") is None:
            raise MissingExtra("engine 'ray' needs the package 'ray'; install it with pip install 'danlu[ray]'")
        if not settings.ray_address:
            raise InvalidInput("ray_address: expected HOST:PORT of the cluster's head, got nothing; give --ray-address")
        self._prefix = f"danlu-{settings.server_id[:12]}-"
        self._head_away_until = float("-inf")
        self._start_not_before: dict[tuple[str, int], float] = {}
        self._give_up_seconds = settings.lease_seconds + STOPPING_SECONDS
        self._simulated = frozenset(device.type for device in settings.simulated)
        node_dir = settings.node_dir or DEFAULT_NODE_DIR
        self._node_dir = node_dir.expanduser() / settings.server_id
        """Folder of tasks on every node; this machine may share a disk with a node."""

        self._link = Link(
            {
                "address": settings.ray_address,
                "is_insecure": settings.insecure_ray,
                "namespace": NAMESPACE,
                "prefix": self._prefix,
                "settings": _for_nodes(settings),
                "node_dir": str(node_dir),
            }
        )

    def close(self) -> None:
        """End the driver process. Tasks keep running."""
        self._link.close()

    def nodes(self) -> Sequence[NodeInfo]:
        return self.nodes_within(ANSWER_SECONDS)

    def nodes_within(self, seconds: float) -> Sequence[NodeInfo]:
        found = self._ask_head("nodes", seconds=seconds)
        return [NodeInfo.model_validate({**fields, "engine": self.name}) for fields in found]

    def addresses(self) -> Sequence[str]:
        found: list[str] = self._ask_head("addresses", seconds=ANSWER_SECONDS)
        return found

    def private_paths(self) -> Sequence[Path]:
        found = [Path(path) for path in self._ask_head("private_paths", seconds=ANSWER_SECONDS)]
        return [*found, self._node_dir]

    def start(self, plan: Plan, credentials: Credentials) -> Sequence[Handle]:
        key = plan.job_id, plan.attempt
        if time.monotonic() < self._start_not_before.get(key, 0.0):
            raise EngineUnreachable(f"not all nodes of {plan.job_id} have answered; it is tried again in a moment")
        handles = [
            Handle(job_id=plan.job_id, attempt=plan.attempt, rank=task.rank, node=task.node) for task in plan.tasks
        ]
        by_node = _by_node(plan.tasks)
        try:
            self._reserve(plan, by_node)
            answers = self._start_parts(plan, by_node, credentials)
        except EngineUnreachable:
            raise
        except EngineUnavailable as error:
            if any(one is None or one.state is not TaskState.LOST for one in self.poll(handles)):
                raise EngineUnreachable(error.message) from error  # an earlier call may have started some tasks
            raise
        self._start_not_before.pop(key, None)
        unknown = [message for kind, _, message in answers if kind == "unknown"]
        if unknown:  # some tasks may have started: neither give up nor undo, the next call completes the start
            self._start_not_before[key] = time.monotonic() + START_PAUSE_SECONDS
            raise EngineUnreachable(unknown[0])
        problems = [answer for answer in answers if answer[0] != "done"]
        if problems:
            self._undo(handles, problems[0][2])
            value_of(problems[0])
        return handles

    def _reserve(self, plan: Plan, by_node: Mapping[str, Sequence[TaskPlan]]) -> None:
        bundles = [Bundle(node, needs(tasks, self._simulated)) for node, tasks in by_node.items()]
        name = _reservation(plan.job_id, plan.attempt)
        self._ask_head("reserve", name, bundles, RESERVE_SECONDS, seconds=RESERVE_SECONDS + ANSWER_SECONDS)

    def _start_parts(
        self, plan: Plan, by_node: Mapping[str, Sequence[TaskPlan]], credentials: Credentials
    ) -> list[Answer]:
        text = plan.model_dump_json()
        given = {
            "server_url": credentials.server_url,
            "token": credentials.token,
            "secrets": dict(credentials.secrets),
            "owner_id": credentials.owner_id,
        }
        overlays = self._overlays(plan, list(by_node)) if plan.has_own_network and len(by_node) > 1 else {}
        return self._call(
            (
                Call(node, "start", (text, [task.rank for task in tasks], given, overlays.get(node)))
                for node, tasks in by_node.items()
            ),
            seconds=START_SECONDS,
        )

    def _undo(self, handles: Sequence[Handle], why: str) -> None:
        """Stop what was started. Raise EngineUnreachable when that is not certain, because a retry would run beside
        it."""
        give_up_at = time.monotonic() + UNDO_SECONDS
        self.stop(handles, 0.0)
        while any(one is None or not task_ended(one.state) for one in self.poll(handles)):
            if time.monotonic() > give_up_at:
                raise EngineUnreachable(why)
            time.sleep(UNDO_PAUSE_SECONDS)
        # otherwise ended tasks would count as ranks that have run
        forget = (Call(node, "forget", (handles[0].job_id, handles[0].attempt)) for node in _by_node(handles))
        if any(kind not in ("done", "gone") for kind, _, _ in self._call(forget, seconds=ANSWER_SECONDS)):
            raise EngineUnreachable(why)

    def poll(self, handles: Sequence[Handle]) -> Sequence[Observation | None]:
        by_node = _by_node(handles)
        answers = self._call(
            (Call(node, "poll", ([fields_of(one) for one in here],)) for node, here in by_node.items()),
            seconds=ANSWER_SECONDS,
        )
        seen: dict[Handle, Observation | None] = {}
        for here, (kind, value, message) in zip(by_node.values(), answers, strict=True):
            if kind == "done":
                seen.update(zip(here, map(_observation, value), strict=True))
            elif kind == "gone" and value > self._give_up_seconds:
                told = f"{message} for {value:.0f} s; by now its tasks have stopped"
                seen.update(dict.fromkeys(here, Observation(state=TaskState.LOST, reason="lost", message=told)))
            else:
                seen.update(dict.fromkeys(here))
        return [seen[handle] for handle in handles]

    def read_log(self, handle: Handle, offset: int, limit: int) -> bytes:
        data: bytes = self._ask(handle, "read_log", offset, limit)
        return data

    def read_marks(self, handle: Handle, offset: int) -> Sequence[LogMark]:
        return [LogMark(offset=at, at=when) for at, when in self._ask(handle, "read_marks", offset)]

    def copy_log(self, handle: Handle, offset: int, *, limit: int, after_mark: int, path: Path, at: int) -> CopiedLog:
        """The driver writes the bytes, so that they do not pass through the link and the server's process."""
        call = Call(handle.node, "read_log_piece", (fields_of(handle), offset, limit, after_mark))
        target = (str(path), at, limit)
        size, marks = self._link.ask("copy_log", call, ANSWER_SECONDS, target, seconds=ANSWER_SECONDS + 1.0)
        return CopiedLog(size, [LogMark(offset=length, at=when) for length, when in marks])

    def read_usage(self, handle: Handle, generation: int, offset: int) -> UsagePiece | None:
        return self.read_usages([(handle, generation, offset)])[0]

    def read_usages(self, asked: Sequence[tuple[Handle, int, int]]) -> Sequence[UsagePiece | None]:
        """One call per node. None for tasks of nodes that do not answer."""
        known = {handle: (generation, offset) for handle, generation, offset in asked}
        by_node = _by_node(known)
        answers = self._call(
            (
                Call(node, "read_usages", ([(fields_of(one), *known[one]) for one in here],))
                for node, here in by_node.items()
            ),
            seconds=ANSWER_SECONDS,
        )
        found: dict[Handle, UsagePiece | None] = {}
        for here, (kind, value, _) in zip(by_node.values(), answers, strict=True):
            found.update(zip(here, value, strict=True) if kind == "done" else {})
        return [found.get(handle) for handle in known]

    def stop(self, handles: Sequence[Handle], grace_seconds: float) -> None:
        calls = (
            Call(node, "stop", ([fields_of(one) for one in here], grace_seconds))
            for node, here in _by_node(handles).items()
        )
        self._call(calls, seconds=ANSWER_SECONDS)

    def open_channel(
        self, handle: Handle, command: Sequence[str], terminal: TerminalSize | None, *, apart: bool = False
    ) -> Channel:
        name = self._ask(handle, "open_shell", *command_of(command, terminal), apart)
        return self._channel(handle.node, name, apart=apart and terminal is None)

    def connect(self, handle: Handle, port: int) -> socket.socket:
        call = Call(handle.node, "connect", (fields_of(handle), port))
        (answer,) = self._call([call], seconds=PORT_SECONDS)
        return as_socket(self._channel(handle.node, value_of(answer), apart=False))

    def _channel(self, node: str, name: str, *, apart: bool) -> RayChannel:
        def ask(action: str, *arguments: Any) -> Any:
            call = Call(node, "shell", (name, action, *arguments))
            (answer,) = self._link.ask("call_shell", [call], ANSWER_SECONDS, seconds=ANSWER_SECONDS + 1.0)
            return value_of(answer)

        return RayChannel(ask, apart=apart)

    def forget(self, job_id: str, attempt: int) -> None:
        """Processes first, then their reservation."""
        nodes = [node.name for node in self.nodes()]
        for answer in self._call((Call(node, "forget", (job_id, attempt)) for node in nodes), seconds=ANSWER_SECONDS):
            value_of(answer)
        self.release(job_id, attempt)

    def release(self, job_id: str, attempt: int) -> None:
        self._ask_head("release", _reservation(job_id, attempt), seconds=ANSWER_SECONDS)

    def leftovers(self) -> Sequence[tuple[str, int]]:
        nodes = [node.name for node in self.nodes()]
        found = {_attempt(name) for name in self._ask_head("reserved", seconds=ANSWER_SECONDS)}
        for kind, value, _ in self._call((Call(node, "leftovers", ()) for node in nodes), seconds=ANSWER_SECONDS):
            found |= {(job_id, attempt) for job_id, attempt in value} if kind == "done" else set()
        return sorted(found)

    def _overlays(self, plan: Plan, nodes: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """Return node -> fields of its `Overlay`."""
        known = {info.name: info.address for info in self.nodes()}
        gone = [node for node in nodes if node not in known]
        if gone:
            raise EngineUnavailable(f"{', '.join(gone)}: not reachable")
        digest = hashlib.sha256(f"{self._prefix}{plan.job_id}/{plan.attempt}".encode()).digest()
        number = int.from_bytes(digest[:3], "big") or 1
        return {
            node: tuple(Overlay(number, known[node], tuple(known[other] for other in nodes if other != node)))
            for node in nodes
        }

    def _ask_head(self, request: str, *arguments: Any, seconds: float) -> Any:
        """Ask what only the head of the cluster knows. While it is offline, fail at once instead of waiting again:
        running tasks need the scheduler's time."""
        if time.monotonic() < self._head_away_until:
            raise EngineUnreachable("the head of the Ray cluster does not answer")
        try:
            return self._link.ask(request, *arguments, seconds=seconds)
        except EngineUnreachable:
            self._head_away_until = time.monotonic() + HEAD_PAUSE_SECONDS
            raise

    def _ask(self, handle: Handle, action: str, *arguments: Any) -> Any:
        (answer,) = self._call([Call(handle.node, action, (fields_of(handle), *arguments))], seconds=ANSWER_SECONDS)
        return value_of(answer)

    def _call(self, calls: Iterable[Call], *, seconds: float) -> list[Answer]:
        answers: list[Answer] = self._link.ask("call", list(calls), seconds, seconds=seconds + 1.0)
        return answers


def _for_nodes(settings: EngineSettings) -> dict[str, Any]:
    """Settings of the agents' engines, without those that each agent sets itself."""
    of_the_server = {"work_dir", "node_name", "python", "node_dir", "ray_address", "insecure_ray"}
    shared = settings.model_dump(mode="json", exclude=of_the_server)
    return {**shared, "task_lease_seconds": settings.lease_seconds}


def _observation(fields: dict[str, Any] | None) -> Observation | None:
    return None if fields is None else Observation.model_validate(fields)


def _by_node(placed: Iterable[_Placed]) -> dict[str, list[_Placed]]:
    found: dict[str, list[_Placed]] = {}
    for one in placed:
        found.setdefault(one.node, []).append(one)
    return found


def _reservation(job_id: str, attempt: int) -> str:
    return f"{job_id}/{attempt}"


def _attempt(reservation: str) -> tuple[str, int]:
    job_id, _, attempt = reservation.rpartition("/")
    return job_id, int(attempt)
