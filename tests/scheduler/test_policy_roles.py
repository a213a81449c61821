"""Jobs whose nodes are not all alike, and the ports of tasks."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from tests.support.world import make_node

from danlu.scheduler.policy.decide import decide
from danlu.scheduler.policy.snapshot import Action, FreeNode, QueuedJob, Snapshot, Start, Wait
from danlu.spec.job import parse_job
from danlu.spec.nodes import NodeInfo

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
ROLES = {
    "ps": {"command": "p", "count": 2},
    "worker": {"command": "w", "count": 2, "resources": {"device": "npu:3", "cpus": 1}},
}


def empty(info: NodeInfo) -> FreeNode:
    return FreeNode(info, info.devices, info.cpus, info.memory_bytes, info.max_tasks)


def decided(*nodes: NodeInfo, jobs: int = 1, **spec: Any) -> list[Action]:
    queue = tuple(
        QueuedJob(f"train-{number}", parse_job({"name": "a", **spec}), attempt=1, queued_at=NOW)
        for number in range(jobs)
    )
    return decide(Snapshot(queue, tuple(empty(node) for node in nodes)), NOW)


def test_each_task_gets_what_its_role_asks_for() -> None:
    (start,) = decided(make_node(npus=8), launch="ps_worker", roles=ROLES)
    assert isinstance(start, Start)
    assert [task.device_ids for task in start.placement.tasks] == [(0, 1, 2), (3, 4, 5), (), ()]


def test_a_role_that_does_not_fit_keeps_the_whole_job_waiting() -> None:
    (wait,) = decided(make_node(npus=5), launch="ps_worker", roles=ROLES)
    assert isinstance(wait, Wait)
    assert wait.why.code == "no_such_node"
    assert "2 x (npu:3, 1 cpus)" in wait.why.message


def test_on_the_machines_network_no_port_is_given_twice() -> None:
    node = make_node(npus=0, has_own_network=False)
    starts = decided(node, jobs=3, command="x", nodes=3)
    ports = [
        port
        for start in starts
        if isinstance(start, Start)
        for port in (start.placement.master_port, *(task.port for task in start.placement.tasks))
    ]
    assert len(ports) == len(set(ports)) == 12


def test_in_a_network_of_its_own_every_attempt_has_the_same_ports() -> None:
    starts = decided(make_node(npus=0), jobs=2, command="x", nodes=2)
    ports = {task.port for start in starts if isinstance(start, Start) for task in start.placement.tasks}
    assert len(ports) == 1
