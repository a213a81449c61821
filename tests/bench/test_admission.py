"""Slow nodes are named and drained, healthy ones are not."""

from __future__ import annotations

import random

import pytest

from danlu.bench.admission import (
    Baseline,
    Judged,
    Standing,
    baseline_of,
    best_of,
    judge,
    measures_same,
    node_values,
    one_per_node,
    peers_of,
)
from danlu.bench.report import JobFacts, Report, report_job, report_run
from danlu.bench.results import Collected, RankResult
from danlu.bench.suite import Better, Measure, Mode, parse_suite
from danlu.spec.states import JobState

NODES = ("n0", "n1", "n2", "n3")
SUITE = parse_suite(
    {"name": "memory", "work": "memory", "measures": {"bandwidth": {"unit": "GB/s"}}, "nodes": 4}, where="test"
)


def make_report(values: dict[str, float], *, cpus: dict[str, int] | None = None) -> Report:
    results = {
        rank: RankResult(
            rank=rank,
            num_ranks=len(values),
            server=rank,
            node=node,
            metrics={"bandwidth": value},
            facts={"cpus": (cpus or {}).get(node, 8)},
        )
        for rank, (node, value) in enumerate(values.items())
    }
    job = JobFacts(id="train-1", state=JobState.SUCCEEDED, nodes=len(values), mode=Mode.SINGLE_SERVER)
    return report_run("bench-1", SUITE, jobs=[report_job(SUITE, job, collected=Collected(results=results))])


def past_of(*newest_first: float, better: Better = Better.HIGHER) -> dict[str, float]:
    past = [make_report({"n0": value}) for value in newest_first]
    return {node: one.value for node, one in baseline_of(past, better=better, tolerance=0.1).items()}


def below(judged: list[Judged]) -> list[str]:
    return [one.node for one in judged if one.is_below]


def test_a_node_below_its_own_past_is_named_with_the_figures() -> None:
    past = [make_report(dict.fromkeys(NODES, 10.0 + noise)) for noise in (-0.2, 0.0, 0.0)]
    now = make_report({"n0": 10.1, "n1": 7.9, "n2": 9.8, "n3": 10.0})
    judged = judge(
        node_values(now), baseline_of(past, better=Better.HIGHER, tolerance=0.1), measure=Measure(), tolerance=0.1
    )
    assert below(judged) == ["n1"]
    told = "bench memory: bandwidth 7.9 GB/s, baseline 10 GB/s (-21.0 %), best of 1, bench-1"
    assert judged[1].sentence([now]) == told


def test_the_past_counts_with_its_better_runs() -> None:
    assert past_of(9.6, 9.7, 10.0, 9.5, 10.0) == {"n0": 10.0}
    assert past_of(9.6, 9.7, 10.0, 9.5, 10.0, better=Better.LOWER) == {"n0": 9.6}
    assert past_of(10.0) == {"n0": 10.0}


def test_being_slow_does_not_become_normal() -> None:
    assert past_of(*[8.0] * 27, *[10.0] * 3) == {"n0": 10.0}
    assert past_of(*[12.0] * 27, *[10.0] * 3, better=Better.LOWER) == {"n0": 10.0}


def test_a_lucky_run_is_no_baseline() -> None:
    assert past_of(*[10.0] * 5, 13.0) == {"n0": 10.0}
    assert past_of(10.0, 13.0, *[10.0] * 4) == {"n0": 10.0}


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        ({"cpus": 8.0}, True),
        ({"outlier": 0.2}, True),
        ({"nodes": 8}, True),
        ({"parameters": {"megabytes": 1}}, False),
        ({"device": "npu:8"}, False),
        ({"env": {"OMP_NUM_THREADS": "8"}}, False),
    ],
)
def test_what_can_be_compared(change: dict[str, object], is_same: bool) -> None:
    assert measures_same(SUITE, SUITE.model_copy(update=change)) is is_same


def test_a_change_within_what_is_usual_says_nothing() -> None:
    past = [make_report({"n0": value}) for value in (10.0, 8.0, 10.0, 8.0, 10.0, 8.0, 8.0, 10.0)]
    baseline = baseline_of(past, better=Better.HIGHER, tolerance=0.25)
    assert baseline["n0"] == Baseline(10.0, 0.2)
    judged = [judge({"n0": value}, baseline, measure=Measure(), tolerance=0.1)[0] for value in (8.5, 7.5)]
    assert [one.standing for one in judged] == [Standing.OK, Standing.BELOW]


def test_what_all_lost_is_no_fault_of_a_node() -> None:
    baseline = dict.fromkeys(NODES, Baseline(10.0))
    slower = judge(dict.fromkeys(NODES, 8.0), baseline, measure=Measure(), tolerance=0.1)
    assert [one.standing for one in slower] == [Standing.SHARED] * 4
    one_more = judge({**dict.fromkeys(NODES, 8.5), "n2": 6.8}, baseline, measure=Measure(), tolerance=0.1)
    assert below(one_more) == ["n2"]


def test_what_the_others_gained_is_no_fault_either() -> None:
    judged = judge({"n0": 20.0, "n1": 9.5}, dict.fromkeys(NODES, Baseline(10.0)), measure=Measure(), tolerance=0.1)
    assert below(judged) == []


def test_without_a_past_peers_count_when_there_are_enough() -> None:
    values = {"n0": 10.0, "n1": 10.0, "n2": 8.0}
    assert below(judge(values, {}, measure=Measure(), tolerance=0.1)) == ["n2"]
    two = judge({"n0": 10.0, "n1": 5.0}, {}, measure=Measure(), tolerance=0.1)
    assert [(one.baseline, one.standing) for one in two] == [(None, Standing.UNKNOWN)] * 2


def test_peers_have_the_same_hardware() -> None:
    report = make_report({"n0": 10.0, "n1": 10.0, "n2": 10.0, "old": 5.0}, cpus={"old": 4})
    judged = judge(node_values(report), {}, measure=Measure(), tolerance=0.1, peers=peers_of(report))
    assert [(one.node, one.standing) for one in judged] == [
        ("n0", Standing.OK),
        ("n1", Standing.OK),
        ("n2", Standing.OK),
        ("old", Standing.UNKNOWN),
    ]


def test_each_node_gets_one_task() -> None:
    assert one_per_node(SUITE, [8.0, 16.0]).cpus == 8.0
    assert one_per_node(SUITE, [8.0]).cpus is None
    npus = SUITE.model_copy(update={"device": "npu:8"})
    assert one_per_node(npus, [8.0, 16.0]) == npus


def test_low_is_good_where_the_suite_says_so() -> None:
    measure = Measure(better=Better.LOWER)
    judged = judge({"n0": 12.0, "n1": 8.0}, dict.fromkeys(NODES, Baseline(10.0)), measure=measure, tolerance=0.1)
    assert below(judged) == ["n0"]


def test_several_servers_of_one_machine_count_once() -> None:
    report = make_report({"n0": 10.0})
    twice = report.jobs[0].measures["bandwidth"]
    assert node_values(report) == {"n0": twice.value}


@pytest.mark.parametrize("seed", range(20))
def test_noise_does_not_drain_and_a_slow_node_is_found(seed: int) -> None:
    """Single runs lose up to 25 %, those of the past as well; the best of them tell which node is 20 % slower."""
    draw = random.Random(seed)

    def disturbed(value: float) -> float:
        return value * (1 - (draw.uniform(0.0, 0.25) if draw.random() < 0.3 else draw.uniform(0.0, 0.03)))

    past = [make_report({node: disturbed(10.0) for node in NODES}) for _ in range(6)]
    true = {**dict.fromkeys(NODES, 10.0), "n2": 8.0}
    runs = [{node: disturbed(value) for node, value in true.items()} for _ in range(6)]
    baseline = baseline_of(past, better=Better.HIGHER, tolerance=0.1)
    judged = judge(best_of(runs, Better.HIGHER), baseline, measure=Measure(), tolerance=0.1)
    assert below(judged) == ["n2"]
