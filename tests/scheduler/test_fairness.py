"""Whose turn it is: shares of projects, quotas, and what may be borrowed."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from danlu.scheduler.policy.cluster import empty_node
from danlu.scheduler.policy.decide import decide
from danlu.scheduler.policy.holdings import Quotas
from danlu.scheduler.policy.snapshot import (
    Action,
    Evict,
    FreeNode,
    QueuedJob,
    RunningJob,
    RunningTask,
    Snapshot,
    Start,
    Wait,
)
from danlu.spec.devices import Device
from danlu.spec.job import parse_job
from danlu.spec.nodes import NodeInfo

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
NPUS = tuple(Device(type="npu", id=number, model="910b") for number in range(8))


def node(name: str = "n0", **flags: Any) -> FreeNode:
    info = NodeInfo(name=name, cpus=64, memory_bytes=1 << 40, devices=NPUS, has_own_network=True, **flags)
    return empty_node(info)


def queued(number: int, project: int = 1, *, device: str = "npu:1", owner: int = 0, **spec: Any) -> QueuedJob:
    values = {"name": "job", "command": "x", "resources": {"device": device}, **spec}
    at = NOW - timedelta(seconds=spec.pop("waited", 30.0)) if "waited" in spec else NOW - timedelta(seconds=30)
    values.pop("waited", None)
    return QueuedJob(f"train-{number:03d}", parse_job(values), 1, at, None, project, owner)


def running(
    number: int, project: int, devices: tuple[Device, ...], *, owner: int = 0, on: str = "n0", **more: Any
) -> RunningJob:
    started = NOW - timedelta(seconds=more.pop("age", 100.0))
    return RunningJob(f"train-{number:03d}", project, owner, started, (RunningTask(on, devices),), **more)


def snapshot(queue: list[QueuedJob], live: list[RunningJob], *nodes: FreeNode, **more: Any) -> Snapshot:
    """Nodes as they are with what runs on them."""
    left = []
    for item in nodes or (node(),):
        tasks = [task for job in live for task in job.tasks if task.node == item.info.name]
        taken = {device.id for task in tasks for device in task.devices}
        free = tuple(device for device in item.devices if device.id not in taken)
        num_tasks = item.num_tasks - len(tasks)
        left.append(FreeNode(item.info, free, item.cpus, item.memory_bytes, num_tasks, item.drain))
    return Snapshot(queue=tuple(queue), nodes=tuple(left), running=tuple(live), **more)


def started(actions: list[Action]) -> list[str]:
    return [action.job_id for action in actions if isinstance(action, Start)]


def why(actions: list[Action], number: int) -> str:
    return next(
        action.why.code for action in actions if isinstance(action, Wait) and action.job_id == f"train-{number:03d}"
    )


def evicted(actions: list[Action]) -> list[str]:
    return [action.job_id for action in actions if isinstance(action, Evict)]


class TestOrder:
    def test_the_project_that_holds_less_is_next(self) -> None:
        queue = [queued(number, 1) for number in range(8)] + [queued(number, 2) for number in range(8, 16)]
        actions = decide(snapshot(queue, []), NOW)
        assert len(started(actions)) == 8
        assert len([job for job in started(actions) if job >= "train-008"]) == 4

    def test_what_runs_counts(self) -> None:
        queue = [queued(number, 1) for number in range(4)] + [queued(number, 2) for number in range(4, 8)]
        actions = decide(snapshot(queue, [running(100, 1, NPUS[:4])]), NOW)
        assert started(actions) == ["train-004", "train-005", "train-006", "train-007"]

    def test_the_dominant_share_counts_not_the_number_of_devices(self) -> None:
        """Project 1 holds few devices but most of the cores."""
        live = [
            RunningJob("train-100", 1, 0, NOW, (RunningTask("n0", NPUS[:1], cpus=48),)),
            running(101, 2, NPUS[1:4]),
        ]
        queue = [queued(number, 1) for number in range(4)] + [queued(number, 2) for number in range(4, 8)]
        # project 2 is next until it holds as large a share of the devices as project 1 does of the cores
        assert started(decide(snapshot(queue, live), NOW)) == ["train-000", "train-004", "train-005", "train-006"]

    def test_priority_decides_within_a_project(self) -> None:
        queue = [queued(1, device="npu:8", priority=10), queued(2, device="npu:8", priority=90)]
        assert started(decide(snapshot(queue, []), NOW)) == ["train-002"]


class TestQuota:
    def test_a_firm_job_waits_for_its_quota_though_devices_are_free(self) -> None:
        quotas = Quotas({1: {"npu": 4.0}})
        live = [running(100, 1, NPUS[:3])]
        actions = decide(snapshot([queued(1, device="npu:2"), queued(2)], live, quotas=quotas), NOW)
        assert started(actions) == ["train-002"]
        assert why(actions, 1) == "quota_project"

    def test_each_user_has_a_limit_of_their_own(self) -> None:
        quotas = Quotas({1: {"npu": 8.0}}, {(1, 7): {"npu": 1.0}})
        queue = [queued(1, owner=7), queued(2, owner=7), queued(3, owner=8), queued(4, owner=8)]
        actions = decide(snapshot(queue, [], quotas=quotas), NOW)
        assert started(actions) == ["train-001", "train-003", "train-004"]
        assert why(actions, 2) == "quota_user"

    def test_preemptible_jobs_borrow_what_is_idle_after_everybody_else(self) -> None:
        quotas = Quotas({1: {"npu": 2.0}, 2: {"npu": 6.0}})
        queue = [queued(number, 1, preemptible=True) for number in range(8)]
        assert len(started(decide(snapshot(queue, [], quotas=quotas), NOW))) == 8
        queue += [queued(number, 2) for number in range(8, 12)]
        found = started(decide(snapshot(queue, [], quotas=quotas), NOW))
        assert len(found) == 8
        assert {"train-008", "train-009", "train-010", "train-011"} <= set(found)

    def test_what_preemptible_jobs_hold_does_not_count_against_firm_ones(self) -> None:
        quotas = Quotas({1: {"npu": 4.0}})
        live = [running(100, 1, NPUS[:4], is_preemptible=True)]
        assert started(decide(snapshot([queued(1, device="npu:4")], live, quotas=quotas), NOW)) == ["train-001"]

    def test_within_its_quota_a_preemptible_job_takes_back_what_others_borrow(self) -> None:
        quotas = Quotas({1: {"npu": 4.0}, 2: {"npu": 4.0}})
        live = [running(100 + n, 1, NPUS[n : n + 1], is_preemptible=True, age=100.0 - n) for n in range(8)]
        actions = decide(snapshot([queued(1, 2, device="npu:2", preemptible=True)], live, quotas=quotas), NOW)
        assert evicted(actions) == ["train-107", "train-106"]
        assert why(actions, 1) == "making_room"

    def test_nobody_within_their_quota_makes_room_for_a_preemptible_job(self) -> None:
        quotas = Quotas({1: {"npu": 8.0}, 2: {"npu": 4.0}})
        live = [running(100, 1, NPUS, is_preemptible=True)]
        actions = decide(snapshot([queued(1, 2, preemptible=True)], live, quotas=quotas), NOW)
        assert evicted(actions) == []

    def test_a_project_takes_back_what_another_was_not_allowed_to_evict(self) -> None:
        """Project 1 may not evict its own job, and the one of project 3 is not enough; project 2 may evict both."""
        quotas = Quotas({1: {"npu": 8.0, "cpus": 10.0}, 2: {"npu": 4.0}, 3: {"npu": 0.0}})
        live = [
            RunningJob("train-100", 1, 0, NOW, (RunningTask("n0", NPUS[:4], cpus=11),), is_preemptible=True),
            running(101, 3, NPUS[4:5], is_preemptible=True),
            running(102, 4, NPUS[5:]),
            RunningJob("train-103", 2, 0, NOW, (RunningTask("n0", (), cpus=48),)),  # so that project 1 is served first
        ]
        queue = [queued(number, number, device="npu:2", preemptible=True) for number in (1, 2)]
        actions = decide(snapshot(queue, live, quotas=quotas), NOW)
        assert evicted(actions) == ["train-100"]
        assert (why(actions, 1), why(actions, 2)) == ("no_capacity", "making_room")
