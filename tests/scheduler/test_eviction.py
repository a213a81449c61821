"""Who makes room: the fewest tasks, of those the newest, and nobody for nothing."""

from __future__ import annotations

from datetime import timedelta
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scheduler.test_fairness import NOW, NPUS, evicted, node, queued, running, snapshot, started, why

from danlu.scheduler.policy.decide import decide
from danlu.scheduler.policy.snapshot import FreeNode, RunningJob, RunningTask
from danlu.spec.devices import Device


def test_the_newest_goes_and_no_more_than_needed() -> None:
    live = [running(100 + n, 1, NPUS[2 * n : 2 * n + 2], is_preemptible=True, age=100.0 - n) for n in range(4)]
    actions = decide(snapshot([queued(1, device="npu:4")], live), NOW)
    assert evicted(actions) == ["train-103", "train-102"]
    assert why(actions, 1) == "making_room"


def test_one_large_goes_rather_than_two_small_that_are_newer() -> None:
    live = [
        running(100, 1, NPUS[:4], is_preemptible=True, age=500.0),
        running(101, 1, NPUS[4:6], is_preemptible=True, age=2.0),
        running(102, 1, NPUS[6:], is_preemptible=True, age=1.0),
    ]
    assert evicted(decide(snapshot([queued(1, device="npu:4")], live), NOW)) == ["train-100"]


def test_nobody_goes_when_it_would_not_be_enough() -> None:
    live = [running(100, 1, NPUS[:4], is_preemptible=True), running(101, 1, NPUS[4:])]
    actions = decide(snapshot([queued(1, device="npu:8")], live), NOW)
    assert evicted(actions) == []
    assert why(actions, 1) == "no_capacity"


def test_nobody_goes_while_enough_is_ending() -> None:
    live = [
        running(100, 1, NPUS[:4], is_preemptible=True, is_ending=True, can_be_stopped=False),
        running(101, 1, NPUS[4:], is_preemptible=True),
    ]
    actions = decide(snapshot([queued(1, device="npu:4"), queued(2, device="npu:1")], live), NOW)
    assert evicted(actions) == ["train-101"]  # for the second; what is ending is kept for the first
    assert why(actions, 1) == "making_room"


def test_what_became_free_first_is_kept_until_the_rest_is() -> None:
    """A small job does not slip into the half that is free already."""
    live = [running(100, 1, NPUS[:4], is_preemptible=True, is_ending=True, can_be_stopped=False)]
    wanted = [queued(1, device="npu:8"), queued(2, device="npu:1", preemptible=True)]
    actions = decide(snapshot(wanted, live), NOW)
    assert started(actions) == []
    assert evicted(actions) == []


def test_a_gang_goes_whole_and_counts_with_all_of_its_tasks() -> None:
    gang = RunningJob(
        "train-100", 1, 0, NOW - timedelta(seconds=1),
        (RunningTask("n0", NPUS[:4]), RunningTask("n1", NPUS[:4])),
        is_preemptible=True,
    )  # fmt: skip
    single = running(101, 1, NPUS[4:], is_preemptible=True, age=900.0)
    actions = decide(snapshot([queued(1, device="npu:8"), queued(2)], [gang, single], node("n0"), node("n1")), NOW)
    # on n1 the end of the gang is enough; on n0 both would have to go
    assert evicted(actions) == ["train-100"]


def test_rings_are_kept_to() -> None:
    """Two devices in different rings do not help a job that needs two of one."""
    chips = tuple(Device(type="npu", id=number, model="910") for number in range(8))
    info = node().info.model_copy(update={"devices": chips})
    plain = FreeNode(info, chips, 64, 1 << 40, 64)
    live = [
        running(100, 1, (chips[0],), is_preemptible=True, age=1.0),
        running(101, 1, chips[1:4]),
        running(102, 1, (chips[4],), is_preemptible=True, age=50.0),
        running(103, 1, (chips[5],), is_preemptible=True, age=60.0),
        running(104, 1, chips[6:]),
    ]
    job = queued(1, device="npu:2", launch="ascend")
    assert sorted(evicted(decide(snapshot([job], live, plain), NOW))) == ["train-102", "train-103"]


def test_who_may_not_hear_is_not_asked() -> None:
    """A gang with a task on a node that is away cannot give its devices back."""
    gang = RunningJob("train-100", 1, 0, NOW, (RunningTask("n0", NPUS), RunningTask("gone", NPUS)), is_preemptible=True)
    assert evicted(decide(snapshot([queued(1)], [gang]), NOW)) == []


def test_a_victim_does_not_take_back_what_it_left() -> None:
    waiting = queued(1, device="npu:4", preemptible=True, waited=500.0)
    firm = queued(2, device="npu:4", waited=1.0)
    live = [running(100, 1, NPUS[:4])]
    assert started(decide(snapshot([waiting, firm], live), NOW)) == ["train-002"]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.booleans(), st.integers(0, 50)), min_size=1, max_size=6),
    st.integers(1, 8),
)
def test_on_one_node_nobody_finds_fewer(jobs: list[tuple[int, bool, int]], asked: int) -> None:
    """Against all sets of victims there are."""
    live, first = [], 0
    for number, (count, is_preemptible, age) in enumerate(jobs):
        devices = NPUS[first : first + count]
        first += count
        if len(devices) == count:
            live.append(running(100 + number, 1, devices, is_preemptible=is_preemptible, age=float(age)))
    held = {job.id: len(job.tasks[0].devices) for job in live}
    free = 8 - sum(held.values())
    actions = decide(snapshot([queued(1, device=f"npu:{asked}")], live), NOW)
    if free >= asked:
        assert started(actions) == ["train-001"]
        assert evicted(actions) == []
        return
    can_go = [job.id for job in live if job.is_preemptible]
    enough = [
        some
        for size in range(1, len(can_go) + 1)
        for some in combinations(can_go, size)
        if free + sum(held[job_id] for job_id in some) >= asked
    ]
    assert len(evicted(actions)) == min((len(some) for some in enough), default=0)
    if enough:
        assert free + sum(held[job_id] for job_id in evicted(actions)) >= asked
