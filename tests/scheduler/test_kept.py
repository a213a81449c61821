"""The state that is kept from round to round is the one that would be built anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

import pytest

from danlu.scheduler.kept import KeptState
from danlu.scheduler.loading import free_nodes
from danlu.scheduler.policy.decide import make_state
from danlu.scheduler.policy.holdings import Quotas
from danlu.scheduler.policy.snapshot import Drain, QueuedJob, RunningJob, RunningTask, Snapshot, Start
from danlu.scheduler.policy.state import SchedulingState
from danlu.spec.devices import Device
from danlu.spec.job import parse_job
from danlu.spec.nodes import NodeInfo

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
NUM_NODES, NUM_ROUNDS = 5, 15


def make_infos(npus: int = 4) -> dict[str, NodeInfo]:
    devices = tuple(Device(type="npu", id=number, model="910b") for number in range(npus))
    values: dict[str, Any] = {"cpus": 8, "memory_bytes": 64 << 30, "max_tasks": 6, "holds_many_tasks": True}
    names = [f"n{number}" for number in range(NUM_NODES)]
    return {name: NodeInfo(name=name, devices=devices, work_dir="/srv/danlu", **values) for name in names}


def queued(random: Random, number: int) -> QueuedJob:
    wanted = {
        "name": "job",
        "command": "x",
        "nodes": random.randint(1, 3),
        "resources": {"device": random.choice(["cpu", "npu:1", "npu:2"]), "cpus": random.choice([0.1, 1, 2.3])},
        "preemptible": random.random() < 0.4,
    }
    project = random.randint(1, 3)
    return QueuedJob(f"train-{number}", parse_job(wanted), 1, NOW, project_id=project, owner_id=project)


def running(start: Start, job: QueuedJob) -> RunningJob:
    """What the database has of a job that was started."""
    tasks = tuple(
        RunningTask(
            task.node,
            tuple(Device(type="npu", id=number, model="910b") for number in task.device_ids),
            job.spec.resources.cpus or 0.0,
        )
        for task in start.placement.tasks
    )
    return RunningJob(job.id, job.project_id, job.owner_id, NOW, tasks, job.spec.preemptible, can_be_stopped=False)


def told(state: SchedulingState) -> dict[str, Any]:
    """All that the policy reads of a state."""
    cluster = state.cluster
    return {
        "nodes": {
            name: (
                {kind: sorted(free) for kind, free in node.free.items()},
                node.num_free,
                round(node.cpus, 6),
                node.memory_bytes,
                node.num_tasks,
                +node.ports,
                {job_id: (sorted(one.devices, key=str), one.num_tasks) for job_id, one in node.holdings.items()},
                sorted(node.ending),
                sorted(node.reserved_devices),
            )
            for name, node in cluster.nodes.items()
        },
        "by free": {
            kind: [(count, sorted(nodes)) for count, nodes in cluster.by_free_count(kind) if nodes]
            for kind in ("", "npu")
        },
        "placed": {job_id: (one.job, one.is_evictable, one.ends) for job_id, one in cluster.placed.items()},
        "ending": sorted(cluster.ending_nodes),
        "evictable": sorted(cluster.evictable_nodes),
        "by project": {key: sorted(jobs) for key, jobs in cluster.evictable_by_project.items() if jobs},
        "held": [
            {name: round(amount, 6) for name, amount in table(whose).items() if round(amount, 6)}
            for whose in (1, 2, 3, (1, 1), (2, 2), (3, 3))
            for table in (state.holdings.held, state.holdings.firmly_held)
        ],
    }


class _Watched(KeptState):
    """Compares the state with a new one before each round."""

    num_kept = 0

    def _bring_up_to_date(self, kept: SchedulingState | None, snapshot: Snapshot, basis: Any) -> SchedulingState:
        state = super()._bring_up_to_date(kept, snapshot, basis)
        anew = make_state(replace(snapshot, nodes=tuple(free_nodes(basis[0], snapshot.running, basis[1]))))
        assert told(state) == told(anew)
        assert len(state.queue) == 0
        self.num_kept += state is kept
        return state


def changed(random: Random, live: dict[str, RunningJob]) -> None:
    """What happens between two rounds: jobs end, are confirmed, are told to stop."""
    for job_id, job in list(live.items()):
        what = random.random()
        if what < 0.2:
            del live[job_id]
        elif what < 0.5 and not job.can_be_stopped:
            live[job_id] = replace(job, can_be_stopped=True)
        elif what < 0.6:
            live[job_id] = replace(job, is_ending=True, ends_at=NOW + timedelta(seconds=9))


@pytest.mark.parametrize("number", range(25))
def test_it_is_as_if_it_were_built_anew(number: int) -> None:
    random, kept = Random(number), _Watched()
    infos: Mapping[str, NodeInfo] = make_infos()
    drains: dict[str, Drain] = {}
    quotas = Quotas({1: {"npu": 4.0}})
    live: dict[str, RunningJob] = {}
    for round_number in range(NUM_ROUNDS):
        queue = tuple(queued(random, round_number * 10 + each) for each in range(random.randint(0, 4)))
        snapshot = Snapshot(queue, (), running=tuple(live.values()), quotas=quotas)
        by_id = {job.id: job for job in queue}
        for action in kept.decide(snapshot, infos, dict(drains), now=NOW):
            # some starts come to nothing: another server was quicker
            if isinstance(action, Start) and random.random() < 0.8:
                live[action.job_id] = running(action, by_id[action.job_id])
        changed(random, live)
        if random.random() < 0.1:
            drains = {} if drains else {"n1": Drain("kernel")}
        if random.random() < 0.1:
            infos = make_infos(npus=random.choice([2, 4]))
    assert kept.num_kept > 0


def test_after_an_error_it_is_built_anew() -> None:
    kept, infos = _Watched(), make_infos()
    job = queued(Random(1), 1)
    kept.decide(Snapshot((job,), ()), infos, {}, now=NOW)
    with pytest.raises(TypeError):
        kept.decide(Snapshot((job,), ()), infos, {}, now=None)  # type: ignore[arg-type]
    kept.decide(Snapshot((), ()), infos, {}, now=NOW)
    assert kept.num_kept == 1
