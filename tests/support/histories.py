"""Histories of a cluster: whatever people, jobs, nodes and clocks do, in whatever order, the promises hold.

The scheduler, the policy and the database are the real ones; the engine at the outermost edge is driven by the rules.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from sqlalchemy import text
from tests.fakes.engine import FakeEngine
from tests.support.steps import want
from tests.support.world import Clock, World, make_node, make_world

from danlu.auth.secrets import Sealer
from danlu.errors import WrongState
from danlu.server.nodes import service as node_service
from danlu.server.settings import ServerSettings
from danlu.spec.devices import Device
from danlu.spec.reasons import CATALOGUE
from danlu.spec.states import AttemptState, JobState, TaskState, is_final, is_live, is_over, task_ended
from danlu.store.logs.index import Logs
from danlu.store.logs.segments import LogFiles
from danlu.store.queries import quotas
from danlu.store.sql.database import Database, sqlite_url
from danlu.wire.nodes import DrainNode

NODES = ("n0", "n1", "n2")
TABLES = (
    "events", "device_claims", "tasks", "attempts", "log_segments", "log_marks", "jobs", "quotas", "nodes", "drains",
    "flow_edges", "flow_nodes",
)  # fmt: skip
_FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


JOBS = st.fixed_dictionaries(
    {
        "who": st.integers(0, 1),
        "nodes": st.sampled_from([1, 1, 1, 2, 3]),
        "device": st.sampled_from(["npu:1", "npu:2", "npu:4", "cpu"]),
        "preemptible": st.booleans(),
        "priority": st.sampled_from([10, 50]),
        "launch": st.sampled_from(["plain", "ascend"]),
        "max_duration": st.sampled_from([None, "10m"]),
        "retries": st.integers(0, 1),
    }
)


class _Shared:
    """A database that is made once: what it has learnt about statements is worth more than what is in it."""

    folder: Path | None = None
    database: Database

    @classmethod
    def empty(cls) -> tuple[Path, Database]:
        if cls.folder is None:
            cls.folder = Path(tempfile.mkdtemp(prefix="history-", dir=_FAST)) / "data"
            atexit.register(shutil.rmtree, cls.folder.parent, ignore_errors=True)
            with make_world(cls.folder) as world:
                world.add_user("ann", "vision")
                world.add_user("bob", "speech")
            cls.database = Database(sqlite_url(ServerSettings(data_dir=cls.folder).server_dir / "danlu.db"))
        with cls.database.writing() as session:
            for table in TABLES:
                session.execute(text(f"DELETE FROM {table}"))
        return cls.folder, cls.database


class History(RuleBasedStateMachine):
    jobs = Bundle("jobs")

    def __init__(self) -> None:
        super().__init__()
        folder, self.database = _Shared.empty()
        settings = ServerSettings(data_dir=folder)
        devices = tuple(Device(type="npu", id=number, model="910", is_simulated=True) for number in (0, 1, 4, 5, 6, 7))
        nodes = [make_node(name, devices=devices, holds_many_tasks=name == "n2", max_tasks=6) for name in NODES]
        self.world = World(
            folder,
            FakeEngine(nodes),
            Clock(),
            settings,
            self.database,
            Sealer(settings.server_dir / "secret.key"),
            Logs(self.database, LogFiles(settings.server_dir / "logs")),
        )
        self.world.engine.ends_when_stopped = False
        self.people = [self.world.identity(name) for name in ("ann", "bob")]
        self.ended: dict[tuple[str, int], str] = {}
        self.outputs: dict[str, str] = {}
        self.quota_of: dict[int, float] = {}
        self.firm_before: dict[int, float] = {}
        self.there_before: dict[str, set[tuple[str, int]]] = {}
        """Drained node -> the attempts that were there when it was drained."""
        self.world.tick()

    @initialize(target=jobs, wanted=st.lists(JOBS, min_size=2, max_size=4))
    def begin(self, wanted: list[dict[str, Any]]) -> Any:
        made = [self._submit(spec) for spec in wanted]
        self.tick()
        self.commands_begin()
        return multiple(*made)

    # what people do

    @rule(target=jobs, wanted=st.lists(JOBS, min_size=1, max_size=3))
    def submit(self, wanted: list[dict[str, Any]]) -> Any:
        made = [self._submit(spec) for spec in wanted]
        self.tick()
        return multiple(*made)

    def _submit(self, spec: dict[str, Any]) -> str:
        return self.world.submit(
            self.people[spec["who"]],
            nodes=spec["nodes"],
            resources={"device": spec["device"]},
            launch=spec["launch"] if spec["device"] != "cpu" else "plain",
            max_duration=spec["max_duration"],
            preemptible=spec["preemptible"],
            priority=spec["priority"],
            retry={"max": spec["retries"], "backoff": "1s", "on": ["exit_code", "lost"]},
            grace="5s",
        )

    @rule(job=jobs, verb=st.sampled_from(["stop", "pause", "resume", "start"]))
    def wish(self, job: str, verb: str) -> None:
        try:
            want(self.world, job, verb)
        except WrongState:
            return
        self.tick()

    @rule(who=st.integers(0, 1), devices=st.sampled_from([0, 2, 4, 8, None]))
    def change_quota(self, who: int, devices: int | None) -> None:
        (project_id,) = self.people[who].roles
        amounts = {} if devices is None else {"npu": float(devices)}
        self.database.write(quotas.set_quota, project_id, quotas.WHOLE_PROJECT, amounts)
        self.quota_of[project_id] = float("inf") if devices is None else float(devices)
        self.tick()

    @rule(node=st.sampled_from(NODES), evict=st.booleans())
    def drain(self, node: str, evict: bool) -> None:
        wanted = DrainNode(reason="fan", evict=evict)
        self.database.write(node_service.drain, self.world.state, self.world.admin, node, wanted)
        self.there_before.setdefault(node, self._on(node))
        self.tick()

    @rule(node=st.sampled_from(NODES))
    def open_again(self, node: str) -> None:
        self.database.write(node_service.open_again, self.world.state, self.world.admin, node)
        self.there_before.pop(node, None)
        self.tick()

    def _on(self, node: str) -> set[tuple[str, int]]:
        """The live attempts that have a task on the node."""
        query = (
            "SELECT DISTINCT t.job_id, t.attempt FROM tasks t JOIN attempts a ON a.job_id = t.job_id "
            "AND a.number = t.attempt WHERE t.node = :node AND a.state IN ('starting', 'running', 'stopping')"
        )
        with self.database.reading() as session:
            return {(row[0], row[1]) for row in session.execute(text(query), {"node": node})}

    # what the cluster does

    @rule()
    def tick(self) -> None:
        self.firm_before = self.firm_use()
        self.world.tick()

    @rule()
    def commands_begin(self) -> None:
        for task in self.world.engine.tasks.values():
            if task.state is TaskState.STARTING:
                task.state, task.started_at = TaskState.RUNNING, self.world.clock().timestamp()
        self.tick()

    @rule(which=st.integers(0, 5), code=st.sampled_from([0, 0, 1]))
    def exit(self, which: int, code: int) -> None:
        """A job's commands end by themselves."""
        running = sorted({key[:2] for key, task in self.world.engine.tasks.items() if task.state is TaskState.RUNNING})
        if running:
            job_id, attempt = running[which % len(running)]
            self._end(job_id, attempt, TaskState.SUCCEEDED if code == 0 else TaskState.FAILED, code)
            self.tick()

    @rule()
    def told_ones_end(self) -> None:
        """Whoever was told to stop has done so."""
        told = {key for key, _ in self.world.engine.stops}
        for key in told:
            task = self.world.engine.tasks.get(key)
            if task is not None and not task_ended(task.state):
                task.state, task.exit_code, task.ended_at = TaskState.STOPPED, 143, self.world.clock().timestamp()
        self.tick()

    @rule(node=st.sampled_from(NODES))
    def node_goes(self, node: str) -> None:
        self.world.engine.unreachable.add(node)
        self.server_starts_again()

    @rule(node=st.sampled_from(NODES), has_forgotten=st.booleans())
    def node_comes_back(self, node: str, has_forgotten: bool) -> None:
        """A node that was restarted knows nothing of its tasks."""
        if node not in self.world.engine.unreachable:
            return
        self.world.engine.unreachable.discard(node)
        if has_forgotten:
            for key, task in list(self.world.engine.tasks.items()):
                if task.node == node and not task_ended(task.state):
                    del self.world.engine.tasks[key]
        self.server_starts_again()

    @rule()
    def server_starts_again(self) -> None:
        self.world.scheduler = self.world.new_scheduler("server-1")
        self.tick()

    @rule(seconds=st.sampled_from([1.0, 70.0, 700.0, -3600.0, 86400.0]))
    def clock_jumps(self, seconds: float) -> None:
        self.world.clock.pass_seconds(seconds)
        self.tick()

    # the promises

    @invariant()
    def promises_hold(self) -> None:
        with self.database.reading() as session:
            jobs = session.execute(text("SELECT * FROM jobs")).mappings().all()
            attempts = session.execute(text("SELECT * FROM attempts")).mappings().all()
            claims = session.execute(text("SELECT * FROM device_claims")).mappings().all()
            tasks = session.execute(text("SELECT * FROM tasks")).mappings().all()
        live = {(row["job_id"], row["number"]) for row in attempts if not is_final(AttemptState(row["state"]))}
        self._one_live_attempt(jobs, live)
        self._devices_are_given_once(claims, tasks, live)
        self._ends_are_final_and_on_evidence(attempts)
        for row in jobs:
            assert row["reason_code"] in CATALOGUE, row["reason_code"]
            assert row["reason_message"]
            assert row["output"] == self.outputs.setdefault(row["id"], row["output"])
            assert not (row["state"] == "failed" and row["reason_code"] == "preempted")
        specs = {row["id"]: row["spec"] for row in jobs}
        for row in attempts:
            if row["reason_code"] == "preempted":
                assert row["state"] in ("stopping", "stopped"), "preemption is not failure"
                assert '"preemptible": true' in specs[row["job_id"]], "only who said so makes room"
        self._quotas_are_kept()
        for node, there in self.there_before.items():
            assert self._on(node) <= there, f"something new was started on {node}, which is drained"

    def _one_live_attempt(self, jobs: Any, live: set[tuple[str, int]]) -> None:
        for row in jobs:
            mine = [number for job_id, number in live if job_id == row["id"]]
            assert mine == ([row["attempt"]] if is_live(JobState(row["state"])) else []), row["id"]

    def _devices_are_given_once(self, claims: Any, tasks: Any, live: set[tuple[str, int]]) -> None:
        keys = [(row["node"], row["type"], row["device_id"]) for row in claims]
        assert len(keys) == len(set(keys))
        assert {(row["job_id"], row["attempt"]) for row in claims} <= live
        on_node: dict[str, int] = {}
        for row in tasks:
            if (row["job_id"], row["attempt"]) in live:
                on_node[row["node"]] = on_node.get(row["node"], 0) + 1
        assert all(count <= 6 for count in on_node.values()), on_node

    def _ends_are_final_and_on_evidence(self, attempts: Any) -> None:
        for row in attempts:
            key = (row["job_id"], row["number"])
            if not is_final(AttemptState(row["state"])):
                assert key not in self.ended
                continue
            assert self.ended.setdefault(key, row["state"]) == row["state"]
            assert row["token_digest"] is None
            for (job_id, number, _), task in self.world.engine.tasks.items():
                assert (job_id, number) != key or task_ended(task.state), f"{key} was ended without evidence"

    def firm_use(self) -> dict[int, float]:
        query = (
            "SELECT j.project_id, count(*) FROM device_claims c JOIN jobs j ON j.id = c.job_id "
            "WHERE json_extract(j.spec, '$.preemptible') = 0 GROUP BY 1"
        )
        with self.database.reading() as session:
            return {row[0]: float(row[1]) for row in session.execute(text(query))}

    def _quotas_are_kept(self) -> None:
        """Nothing firm is started beyond a quota; what was there when the quota shrank may go on."""
        for project_id, used in self.firm_use().items():
            most = max(self.quota_of.get(project_id, float("inf")), self.firm_before.get(project_id, 0.0))
            assert used <= most, f"project {project_id} holds {used}, may hold {most}"

    def _end(self, job_id: str, attempt: int, state: TaskState, code: int) -> None:
        for (job, number, _), task in self.world.engine.tasks.items():
            if (job, number) == (job_id, attempt) and not task_ended(task.state):
                task.state, task.exit_code, task.ended_at = state, code, self.world.clock().timestamp()

    def teardown(self) -> None:
        """Once everything works again and nobody interferes, every job comes to its end."""
        self._let_all_end()

    def _let_all_end(self) -> None:
        self.world.engine.unreachable.clear()
        for node in list(self.there_before):
            self.database.write(node_service.open_again, self.world.state, self.world.admin, node)
        self.there_before.clear()
        for who in self.people:
            (project_id,) = who.roles
            self.database.write(quotas.set_quota, project_id, quotas.WHOLE_PROJECT, {})
            self.quota_of[project_id] = float("inf")
        self.world.scheduler = self.world.new_scheduler("server-1")
        left: list[str] = []
        for _ in range(40):
            self.world.clock.pass_seconds(2)
            with self.database.reading() as session:
                states = {row[0]: row[1] for row in session.execute(text("SELECT id, state FROM jobs"))}
            left = [job_id for job_id, state in states.items() if not is_over(JobState(state))]
            if not left:
                break
            for job_id in left:
                if states[job_id] == "paused":
                    want(self.world, job_id, "stop")
            told = {key for key, _ in self.world.engine.stops}
            for key, task in self.world.engine.tasks.items():
                if not task_ended(task.state):
                    task.started_at = task.ended_at = self.world.clock().timestamp()
                    task.state, task.exit_code = (TaskState.STOPPED, 143) if key in told else (TaskState.SUCCEEDED, 0)
            self.tick()
        self.promises_hold()
        assert not left, f"left behind: { {job_id: self.world.job(job_id).reason for job_id in left} }"
        with self.database.reading() as session:
            assert session.execute(text("SELECT count(*) FROM device_claims")).scalar() == 0
