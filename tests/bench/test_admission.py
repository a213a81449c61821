"""Slow nodes are named and drained, healthy ones are not."""

from __future__ import annotations

import random

import pytest

from danlu.bench.admission import Judged, baseline_of, best_of, judge, node_values, one_per_node
from danlu.bench.report import JobFacts, Report, report_job, report_run
from danlu.bench.results import Collected, RankResult
from danlu.bench.suite import Better, Measure, Mode, parse_suite
from danlu.spec.states import JobState

NODES = ("n0", "n1", "n2", "n3")
SUITE = parse_suite(
    {"name": "memory", "work": "memory", "measures": {"bandwidth": {"unit": "GB/s"}}, "nodes": 4}, where="test"
)


def make_report(values: dict[str, float]) -> Report:
    results = {
        rank: RankResult(rank=rank, num_ranks=len(values), server=rank, node=node, metrics={"bandwidth": value})
        for rank, (node, value) in enumerate(values.items())
    }
    job = JobFacts(id="train-1", state=JobState.SUCCEEDED, nodes=len(values), mode=Mode.SINGLE_SERVER)
    return report_run("bench-1", SUITE, jobs=[report_job(SUITE, job, collected=Collected(results=results))])


def below(judged: list[Judged]) -> list[str]:
    return [one.node for one in judged if one.is_below]


def test_a_node_below_its_own_past_is_named_with_the_figures() -> None:
    past = [make_report(dict.fromkeys(NODES, 10.0 + noise)) for noise in (-0.2, 0.0, 0.3)]
    now = make_report({"n0": 10.1, "n1": 7.9, "n2": 9.8, "n3": 10.0})
    judged = judge(node_values(now), baseline_of(past), measure=Measure(), tolerance=0.1)
    assert below(judged) == ["n1"]
    assert judged[1].sentence(now) == ("bench memory: bandwidth 7.9 GB/s, baseline 10 GB/s (-21.0 %), bench-1")


def test_runs_that_failed_are_no_baseline() -> None:
    incomplete = make_report({"n0": 100.0}).model_copy(update={"verdict": "failed"})
    assert baseline_of([incomplete]) == {}


def test_without_a_past_peers_count_when_there_are_enough() -> None:
    values = {"n0": 10.0, "n1": 10.0, "n2": 8.0}
    assert below(judge(values, {}, measure=Measure(), tolerance=0.1)) == ["n2"]
    two = judge({"n0": 10.0, "n1": 5.0}, {}, measure=Measure(), tolerance=0.1)
    assert [(one.baseline, one.is_below) for one in two] == [(None, False), (None, False)]


def test_each_node_gets_one_task() -> None:
    assert one_per_node(SUITE, [8.0, 16.0]).cpus == 8.0
    assert one_per_node(SUITE, [8.0]).cpus is None
    npus = SUITE.model_copy(update={"device": "npu:8"})
    assert one_per_node(npus, [8.0, 16.0]) == npus


def test_low_is_good_where_the_suite_says_so() -> None:
    measure = Measure(better=Better.LOWER)
    judged = judge({"n0": 12.0, "n1": 8.0}, {"n0": 10.0, "n1": 10.0}, measure=measure, tolerance=0.1)
    assert below(judged) == ["n0"]


def test_several_servers_of_one_machine_count_once() -> None:
    report = make_report({"n0": 10.0})
    twice = report.jobs[0].measures["bandwidth"]
    assert node_values(report) == {"n0": twice.value}


@pytest.mark.parametrize("seed", range(20))
def test_noise_does_not_drain_and_a_slow_node_is_found(seed: int) -> None:
    """Single runs lose up to 25 %; the best of three tells a node that is 20 % slower from one that was disturbed."""
    draw = random.Random(seed)

    def disturbed(value: float) -> float:
        return value * (1 - (draw.uniform(0.0, 0.25) if draw.random() < 0.3 else draw.uniform(0.0, 0.03)))

    true = {**dict.fromkeys(NODES, 10.0), "n2": 8.0}
    runs = [{node: disturbed(value) for node, value in true.items()} for _ in range(6)]
    found = best_of(runs, Better.HIGHER)
    assert below(judge(found, dict.fromkeys(NODES, 9.8), measure=Measure(), tolerance=0.1)) == ["n2"]
