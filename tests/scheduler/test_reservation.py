"""Large jobs do not starve, and nodes that are kept for them do not stand idle for want of an estimate."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scheduler.test_fairness import NOW, NPUS, node, queued, running, snapshot, started, why

from danlu.scheduler.policy.decide import decide
from danlu.scheduler.policy.holdings import Quotas
from danlu.scheduler.policy.queueing import Entry
from danlu.scheduler.policy.reservation import RESERVE_AFTER_SECONDS
from danlu.scheduler.policy.state import SchedulingState
from danlu.scheduler.ports import HOST_PORTS

LONG = RESERVE_AFTER_SECONDS + 1


def test_before_it_has_waited_long_others_pass() -> None:
    wanted = [queued(1, device="npu:8", waited=5.0), queued(2)]
    assert started(decide(snapshot(wanted, [running(100, 1, NPUS[:4])]), NOW)) == ["train-002"]


def test_after_that_nodes_are_kept() -> None:
    wanted = [queued(1, device="npu:8", waited=LONG), queued(2)]
    actions = decide(snapshot(wanted, [running(100, 1, NPUS[:4])]), NOW)
    assert started(actions) == []
    assert why(actions, 1) == "reserved"


def test_the_node_that_is_ready_first_is_kept_and_others_are_used() -> None:
    live = [
        running(100, 1, NPUS[:4], on="n0", ends_at=NOW + timedelta(hours=2)),
        running(101, 1, NPUS[:4], on="n1", ends_at=NOW + timedelta(hours=1)),
    ]
    wanted = [queued(1, device="npu:8", waited=LONG), *(queued(number) for number in range(2, 8))]
    actions = decide(snapshot(wanted, live, node("n0"), node("n1")), NOW)
    assert len(started(actions)) == 4  # the free half of n0


def test_a_job_that_will_have_ended_in_time_may_use_what_is_kept() -> None:
    live = [running(100, 1, NPUS[:4], ends_at=NOW + timedelta(hours=1))]
    wanted = [
        queued(1, device="npu:8", waited=LONG),
        queued(2, max_duration="10m"),
        queued(3, max_duration="3h"),
        queued(4),
    ]
    assert started(decide(snapshot(wanted, live), NOW)) == ["train-002"]


def test_such_a_job_waits_when_the_nodes_network_has_no_port_left() -> None:
    live = [running(100, 1, NPUS[:4], ends_at=NOW + timedelta(hours=1))]
    short = [queued(2, max_duration="10m", network="host"), queued(3, max_duration="10m")]
    wanted = [queued(1, device="npu:8", waited=LONG), *short]
    actions = decide(snapshot(wanted, live, ports_in_use=frozenset(HOST_PORTS)), NOW)
    assert (started(actions), why(actions, 2)) == (["train-003"], "no_capacity")


def test_a_job_without_devices_does_not_mind() -> None:
    wanted = [queued(1, device="npu:8", waited=LONG), queued(2, device="cpu")]
    assert started(decide(snapshot(wanted, [running(100, 1, NPUS[:4])]), NOW)) == ["train-002"]


def test_nothing_is_kept_for_a_job_that_is_over_its_quota() -> None:
    wanted = [queued(1, device="npu:8", waited=LONG), queued(2)]
    quotas = Quotas({1: {"npu": 7.0}})
    actions = decide(snapshot(wanted, [running(100, 1, NPUS[:4])], quotas=quotas), NOW)
    assert started(actions) == ["train-002"]


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_a_large_job_starts_within_the_bound(chance: Random, has_limit: bool) -> None:
    """Ingestion small jobs that never end coming: RESERVE_AFTER plus the longest that a job runs, plus a look."""
    longest, look = 600.0, 5.0
    state = SchedulingState([node(f"n{number}") for number in range(6)], Quotas())
    ends: list[tuple[float, str]] = []
    number, at = 100, 0.0
    for number in range(101, 107):  # the cluster is full when the large job comes
        state.queue.add(Entry(queued(number, device="npu:8", waited=1.0)))
    while at < RESERVE_AFTER_SECONDS + longest + 2 * look:
        now = NOW + timedelta(seconds=at)
        for start in state.serve(now).starts:
            if start.job_id == "train-001":
                return
            ends.append((at + chance.uniform(0.3, 1.0) * (longest - 30), start.job_id))
            state.confirm(start.job_id)
        if at == 0.0:
            state.queue.add(Entry(queued(1, device="npu:8", nodes=4, waited=0.0)))
        at += look
        for job_id in [job_id for end, job_id in ends if end <= at]:
            state.remove_running(job_id)
        ends = [(end, job_id) for end, job_id in ends if end > at]
        for _ in range(chance.randint(0, 6)):
            number += 1
            limit = longest - 30 if has_limit else None
            size = chance.choice(["npu:8", "npu:8", "npu:4"])
            state.queue.add(Entry(queued(number, device=size, waited=-at, max_duration=limit)))
    raise AssertionError("the large job was passed for too long")
