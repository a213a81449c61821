"""Support for tests of engines: place a job as the policy would, start it, and wait for it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from danlu.engines.base import Credentials, Engine, Handle, NodeInfo, Observation
from danlu.launch import Owner, Placement, Plan, TaskPlacement, make_plan
from danlu.spec.job import parse_job
from danlu.spec.states import TASK_ENDS, TaskState
from danlu.testing.gates import let_go
from danlu.testing.waiting import wait_until

OUTPUT = "store://outputs/jobs/"
_ids = itertools.count(int(time.time() * 1000))


@dataclass(frozen=True)
class Started:
    """A started attempt with its engine."""

    engine: Engine
    plan: Plan
    handles: Sequence[Handle]

    def observe(self) -> list[Observation]:
        seen = self.engine.poll(self.handles)
        return [one for one in seen if one is not None]

    def wait(self, *states: TaskState) -> list[Observation]:
        """Wait until every task is in one of these states; without states, until every task has ended."""
        wanted = set(states) or TASK_ENDS
        wait_until(lambda: all(seen.state in wanted for seen in self.observe()), self.observe)
        return self.observe()

    def wait_for_log(self, text: str, *, rank: int = 0) -> str:
        """Wait until a task's log contains the text, and return the log."""
        wait_until(lambda: text in self.log(rank), lambda: (self.log(rank), self.observe()))
        return self.log(rank)

    def let_go(self, rank: int = 0) -> None:
        """Let a task pass its HOLD. The node's files must be accessible on this machine."""
        node = next(node for node in self.engine.nodes() if node.name == self.handles[rank].node)
        let_go(Path(node.work_dir), self.plan.job_id, attempt=self.plan.attempt, rank=rank)

    def log(self, rank: int = 0) -> str:
        return self.log_bytes(rank).decode(errors="replace")

    def log_bytes(self, rank: int = 0) -> bytes:
        pieces: list[bytes] = []
        offset = 0
        while True:
            piece = self.engine.read_log(self.handles[rank], offset, 1 << 20)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
            offset += len(piece)

    def stop(self, grace_seconds: float = 0.0) -> list[Observation]:
        self.engine.stop(self.handles, grace_seconds)
        return self.wait()


@dataclass
class Starter:
    """Starts jobs on an engine, and stops those that a test left running."""

    engine: Engine
    server_url: str = "http://127.0.0.1:9"
    token: str = "a-token"
    owner_id: int = 1
    owner: Owner = field(default_factory=Owner)
    started: list[Started] = field(default_factory=list)

    def plan(self, command: str | Sequence[str], **fields: Any) -> Plan:
        """Plan a job on the first node; `fields` are those of a job file."""
        command = command if isinstance(command, str) else tuple(command)
        job = parse_job({"name": "test", "command": command, **fields})
        job_id = f"train-{next(_ids)}"
        placement = place(self.engine.nodes()[0], job_id=job_id, num_tasks=job.nodes)
        output = f"{OUTPUT}{job_id}/"
        return make_plan(job, job_id=job_id, attempt=1, placement=placement, output=output, owner=self.owner)

    def start(self, command: str | Sequence[str], *, secrets: dict[str, str] | None = None, **fields: Any) -> Started:
        return self.start_plan(self.plan(command, **fields), secrets=secrets)

    def start_plan(self, plan: Plan, *, secrets: dict[str, str] | None = None) -> Started:
        credentials = Credentials(self.server_url, self.token, secrets=secrets or {}, owner_id=self.owner_id)
        one = Started(self.engine, plan, self.engine.start(plan, credentials))
        self.started.append(one)
        return one

    def clean_up(self) -> None:
        for one in self.started:
            self.engine.stop(one.handles, 0.0)
        for one in self.started:
            one.wait()
            self.engine.forget(one.plan.job_id, one.plan.attempt)


def place(node: NodeInfo, *, job_id: str, num_tasks: int) -> Placement:
    """Put all tasks on one node."""
    return Placement(
        tasks=tuple(
            TaskPlacement(
                rank=rank,
                node=node.name,
                address=f"10.88.0.{rank + 1}" if node.has_own_network else "127.0.0.1",
                port=23457 + rank,
                root="/opt/ml" if node.has_sandbox else f"{node.work_dir}/{job_id}/1/{rank}/ml",
            )
            for rank in range(num_tasks)
        ),
        master_port=23456,
        interface="lo",
    )
