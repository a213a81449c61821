"""The policy as properties: whatever the queue and the nodes, these hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.scheduler.policy.decide import decide, next_deadline
from danlu.scheduler.policy.snapshot import Action, Evict, FreeNode, GiveUp, QueuedJob, Snapshot, Start, Wait
from danlu.spec.devices import Device
from danlu.spec.job import parse_job
from danlu.spec.nodes import NodeInfo
from danlu.spec.reasons import CATALOGUE

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def queued(number: int, **changes: Any) -> QueuedJob:
    timing: dict[str, Any] = {
        name: changes.pop(name) for name in ("queued_at", "not_before", "attempt") if name in changes
    }
    spec = parse_job({"name": "job", "command": "x", **changes})
    values: dict[str, Any] = {"id": f"train-{number}", "spec": spec, "attempt": 1, "queued_at": NOW}
    values.update(timing)
    return QueuedJob(**values)


def free(name: str, *, npus: int = 0, gpus: int = 0, cpus: float = 8, tasks: int = 8, **flags: Any) -> FreeNode:
    devices = tuple(Device(type="npu", id=number, model="910b") for number in range(npus)) + tuple(
        Device(type="gpu", id=number, model="a100") for number in range(gpus)
    )
    info = NodeInfo(
        name=name, cpus=cpus, memory_bytes=64 << 30, devices=devices, max_tasks=tasks, work_dir="/srv/danlu", **flags
    )
    return FreeNode(info=info, devices=devices, cpus=cpus, memory_bytes=64 << 30, num_tasks=tasks)


@st.composite
def nodes(draw: st.DrawFn) -> tuple[FreeNode, ...]:
    made = []
    for number in range(draw(st.integers(0, 4))):
        node = free(
            f"n{number}",
            npus=draw(st.integers(0, 4)),
            gpus=draw(st.integers(0, 2)),
            cpus=draw(st.sampled_from([1, 4, 8])),
            tasks=draw(st.integers(1, 6)),
            has_sandbox=draw(st.booleans()),
            has_own_network=draw(st.booleans()),
            holds_many_tasks=draw(st.booleans()),
        )
        taken = draw(st.integers(0, len(node.devices)))
        made.append(replace(node, devices=node.devices[taken:], num_tasks=draw(st.integers(0, node.num_tasks))))
    return tuple(made)


requests = st.fixed_dictionaries(
    {
        "nodes": st.integers(1, 4),
        "resources": st.fixed_dictionaries(
            {
                "device": st.sampled_from(
                    ["cpu", "cpu:2", "npu:1", "npu:910b:2", "npu:4", "gpu:1", "gpu:h100:1", "tpu:1"]
                )
            },
            optional={"cpus": st.sampled_from([0.5, 2, 8]), "memory": st.sampled_from(["1GB", "40GiB"])},
        ),
        "max_wait": st.none() | st.just("1m"),
    }
)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    wanted = draw(st.lists(requests, max_size=8))
    jobs = tuple(
        queued(
            number,
            queued_at=NOW - timedelta(seconds=draw(st.sampled_from([0, 30, 90]))),
            not_before=draw(st.none() | st.just(NOW + timedelta(seconds=5)) | st.just(NOW)),
            attempt=draw(st.integers(1, 2)),
            **values,
        )
        for number, values in enumerate(wanted)
    )
    return Snapshot(queue=jobs, nodes=draw(nodes()), ports_in_use=draw(st.frozensets(st.integers(23500, 23503))))


def starts(actions: list[Action]) -> list[Start]:
    return [action for action in actions if isinstance(action, Start)]


def has_reserved(actions: list[Action]) -> bool:
    return any(isinstance(action, Wait) and action.why.code == "reserved" for action in actions)


@given(snapshots())
def test_every_job_gets_one_answer_in_order(snapshot: Snapshot) -> None:
    answers = [action for action in decide(snapshot, NOW) if not isinstance(action, Evict)]
    assert [action.job_id for action in answers] == [job.id for job in snapshot.queue]


@given(snapshots())
def test_no_device_is_given_twice_or_without_being_free(snapshot: Snapshot) -> None:
    specs = {job.id: job.spec for job in snapshot.queue}
    available = {(node.info.name, device.type, device.id) for node in snapshot.nodes for device in node.devices}
    given_out = [
        (task.node, specs[action.job_id].resources.device.type, device_id)
        for action in starts(decide(snapshot, NOW))
        for task in action.placement.tasks
        for device_id in task.device_ids
    ]
    assert len(given_out) == len(set(given_out))
    assert set(given_out) <= available


@given(snapshots())
def test_a_gang_starts_whole_with_what_it_asked_for(snapshot: Snapshot) -> None:
    specs = {job.id: job.spec for job in snapshot.queue}
    models = {
        (node.info.name, device.type, device.id): device.model for node in snapshot.nodes for device in node.devices
    }
    for action in starts(decide(snapshot, NOW)):
        spec, asked = specs[action.job_id], specs[action.job_id].resources.device
        assert [task.rank for task in action.placement.tasks] == list(range(spec.nodes))
        for task in action.placement.tasks:
            assert len(task.device_ids) == (asked.count if asked.is_scarce else 0)
            if asked.model is not None:
                assert {models[task.node, asked.type, number] for number in task.device_ids} == {asked.model}


@given(snapshots())
def test_no_node_holds_more_than_it_has(snapshot: Snapshot) -> None:
    specs = {job.id: job.spec for job in snapshot.queue}
    cpus: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    tasks: Counter[str] = Counter()
    for action in starts(decide(snapshot, NOW)):
        asked = specs[action.job_id].resources
        per_node = Counter(task.node for task in action.placement.tasks)
        for name, count in per_node.items():
            info = next(node.info for node in snapshot.nodes if node.info.name == name)
            assert count == 1 or info.holds_many_tasks
            tasks[name] += count
            cpus[name] += count * (asked.cpus or 0)  # type: ignore[assignment]
            memory[name] += count * (asked.memory or 0)
    for node in snapshot.nodes:
        name = node.info.name
        assert tasks[name] <= node.num_tasks
        assert cpus[name] <= node.cpus
        assert memory[name] <= node.memory_bytes


@given(snapshots())
def test_attempts_that_share_a_network_have_ports_of_their_own(snapshot: Snapshot) -> None:
    shared = [
        action.placement.master_port
        for action in starts(decide(snapshot, NOW))
        if action.placement.tasks[0].address == "127.0.0.1"
    ]
    assert len(shared) == len(set(shared))
    assert not set(shared) & snapshot.ports_in_use


@given(snapshots())
def test_tasks_of_an_own_network_have_addresses_of_their_own(snapshot: Snapshot) -> None:
    for action in starts(decide(snapshot, NOW)):
        addresses = [task.address for task in action.placement.tasks]
        assert len(set(addresses)) == len(addresses) or set(addresses) == {"127.0.0.1"}


@given(snapshots())
def test_every_wait_has_a_reason_of_the_catalogue(snapshot: Snapshot) -> None:
    for action in decide(snapshot, NOW):
        if isinstance(action, (Wait, GiveUp)):
            assert action.why.code in CATALOGUE
            assert action.why.message


@settings(max_examples=60)
@given(snapshots())
def test_a_job_waits_only_when_it_does_not_fit(snapshot: Snapshot) -> None:
    """A job that waits for room would not start either if it were alone with those that start."""
    actions = decide(snapshot, NOW)
    if has_reserved(actions):
        return  # it may be kept out by a node that is kept for somebody else
    starting = {action.job_id for action in starts(actions)}
    for action in actions:
        if isinstance(action, Wait) and action.why.code in ("no_capacity", "no_such_node", "no_nodes"):
            kept = tuple(job for job in snapshot.queue if job.id in starting or job.id == action.job_id)
            again = decide(replace(snapshot, queue=kept), NOW)
            assert has_reserved(again) or {start.job_id for start in starts(again)} == starting


@given(snapshots())
def test_deciding_is_pure(snapshot: Snapshot) -> None:
    assert decide(snapshot, NOW) == decide(snapshot, NOW)


def test_a_job_that_fits_nowhere_hears_what_there_is() -> None:
    snapshot = Snapshot(queue=(queued(1, nodes=1, resources={"device": "npu:8"}),), nodes=(free("n0", npus=4),))
    (action,) = decide(snapshot, NOW)
    assert isinstance(action, Wait)
    assert action.why.code == "no_such_node"
    assert action.why.message == (
        "requests 1 x (npu:8), more than the nodes have even when empty: 4 npu, 8 task slots on n0"
    )


def test_devices_that_no_rank_table_can_name_are_not_counted() -> None:
    job = queued(1, nodes=4, launch="ascend", resources={"device": "npu:8"})
    (action,) = decide(Snapshot(queue=(job,), nodes=(free("n0", npus=32),)), NOW)
    assert isinstance(action, Wait)
    assert "16 npu that can be in a rank table (of 32), 8 task slots on n0" in action.why.message


def test_a_job_that_must_wait_hears_the_same_at_every_look() -> None:
    node = free("n0", npus=4)
    busy = replace(node, devices=node.devices[3:])
    snapshot = Snapshot(queue=(queued(1, resources={"device": "npu:2"}),), nodes=(busy,))
    (action,) = decide(snapshot, NOW)
    assert isinstance(action, Wait)
    assert (action.why.code, action.why.message) == (
        "no_capacity",
        "requests 1 x (npu:2), which is in use",
    )


def test_a_small_job_passes_a_large_one_that_does_not_fit() -> None:
    wanted = (queued(1, resources={"device": "npu:4"}), queued(2, resources={"device": "npu:1"}))
    node = free("n0", npus=4)
    actions = decide(Snapshot(queue=wanted, nodes=(replace(node, devices=node.devices[:2]),)), NOW)
    assert [type(action) for action in actions] == [Wait, Start]


def test_max_wait_counts_before_the_first_attempt_only() -> None:
    long_ago = NOW - timedelta(hours=1)
    first = queued(1, max_wait="1m", queued_at=long_ago)
    retry = queued(2, max_wait="1m", queued_at=long_ago, attempt=2)
    actions = decide(Snapshot(queue=(first, retry), nodes=(free("n0"),)), NOW)
    assert [type(action) for action in actions] == [GiveUp, Start]


def test_the_next_deadline_is_the_nearest_that_is_ahead() -> None:
    past, soon = NOW - timedelta(seconds=5), NOW + timedelta(seconds=7)
    cases: list[tuple[QueuedJob, float]] = [
        (queued(1), float("inf")),
        (queued(1, not_before=soon), 7.0),
        (queued(1, not_before=past, attempt=2), float("inf")),
        (queued(1, max_wait="1m", queued_at=past), 55.0),
        (queued(1, max_wait="1s", queued_at=past, attempt=2), float("inf")),
    ]
    for job, seconds in cases:
        assert next_deadline(Snapshot(queue=(job,), nodes=()), NOW) == seconds
