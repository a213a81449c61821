"""What a run of a benchmark came to: values, verdict, and what is wrong with it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Optional

from pydantic import BaseModel, ConfigDict

from danlu.bench.aggregate import Aggregate, aggregate, worse_by
from danlu.bench.results import Collected, RankResult
from danlu.bench.suite import Better, Measure, Mode, Suite
from danlu.spec.messages.catalogue import Message, recognise_bench
from danlu.spec.states import JobState, Word

VERSION = 1
MEASURED_BESIDES = {"average_power": Measure(unit="W", better=Better.LOWER, is_from_all=False)}
"""What every suite has where nodes tell it: one rank of each node reads the node's counters."""


class Verdict(Word):
    PASSED = "passed"
    FAILED = "failed"
    STOPPED = "stopped"
    UNFINISHED = "unfinished"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class JobFacts(_Frozen):
    """What the server says of a job."""

    id: str
    state: JobState
    reason: str = ""
    nodes: int
    mode: Mode
    failed_task: Optional[int] = None
    """The task that failed first."""

    started_at: Optional[datetime] = None
    ended_at: Optional[datetime] = None


class ServerFacts(_Frozen):
    server: int
    node: str
    facts: dict[str, Any]


class JobReport(_Frozen):
    """One job of a run: a suite on a number of nodes."""

    job: JobFacts
    num_ranks: int
    measures: dict[str, Aggregate]
    curves: dict[str, list[list[float]]] = {}
    """Name -> points (x, y); the median over ranks."""

    servers: list[ServerFacts] = []
    problems: list[str] = []


class ScalePoint(_Frozen):
    nodes: int
    value: float
    efficiency: float
    """Of the smallest number of nodes, times the nodes: what part of it is reached."""


class Change(_Frozen):
    measure: str
    value: float
    baseline: float
    change: float
    """(value - baseline) / baseline"""

    is_worse: bool


class Comparison(_Frozen):
    run: str
    tolerance: float
    changes: list[Change]


class Report(_Frozen):
    """A whole run. docs/formats/bench.md"""

    version: int = VERSION
    run: str
    suite: Suite
    mode: Mode
    verdict: Verdict
    problems: list[str]
    problems_said: list[Message] = []
    """The same with their codes and parameters."""

    jobs: list[JobReport]
    scaling: list[ScalePoint] = []
    comparison: Optional[Comparison] = None

    @property
    def main(self) -> Optional[Aggregate]:
        """The main measure on the largest number of nodes."""
        return self.jobs[-1].measures.get(self.suite.main_measure) if self.jobs else None

    @property
    def ended_at(self) -> Optional[datetime]:
        ended = [one.job.ended_at for one in self.jobs if one.job.ended_at is not None]
        return max(ended) if ended else None


def report_job(suite: Suite, job: JobFacts, *, collected: Collected) -> JobReport:
    """Check and add up what the ranks of one job left."""
    num_ranks = job.nodes * suite.per_node
    results = {rank: one for rank, one in collected.results.items() if rank < num_ranks}
    measures = {
        name: found
        for name, measure in {**suite.measures, **MEASURED_BESIDES}.items()
        if (found := aggregate(results, name, measure=measure, mode=job.mode, outlier=suite.outlier)) is not None
    }
    problems = [
        *_of_job(job, collected),
        *_of_ranks(suite, job, collected, num_ranks=num_ranks),
        *_of_numbers(suite, results),
    ]
    first_of_server = {one.server: one for _, one in sorted(results.items(), reverse=True)}
    return JobReport(
        job=job,
        num_ranks=num_ranks,
        measures=measures,
        curves=_curves(list(results.values())),
        servers=[
            ServerFacts(server=server, node=one.node, facts=one.facts)
            for server, one in sorted(first_of_server.items())
        ],
        problems=problems,
    )


def report_run(run: str, suite: Suite, *, jobs: Sequence[JobReport]) -> Report:
    """The report of a run from those of its jobs."""
    ordered = sorted(jobs, key=lambda one: one.job.nodes)
    problems = [problem for one in ordered for problem in one.problems]
    for name, criterion in suite.criteria.items():
        for one in ordered:
            found = one.measures.get(name)
            problem = "was not measured" if found is None else criterion.problem(found.value)
            if problem is not None and one.job.state is JobState.SUCCEEDED:
                problems.append(f"{name} on {one.job.nodes} nodes: {problem}")
    return Report(
        run=run,
        suite=suite,
        mode=ordered[-1].job.mode,
        verdict=_verdict([one.job.state for one in ordered], problems),
        problems=problems,
        problems_said=[recognise_bench(problem) for problem in problems],
        jobs=ordered,
        scaling=_scaling(suite, ordered),
    )


def compare(report: Report, baseline: Report, *, tolerance: float) -> Report:
    """The report with what changed since the baseline: measures on the largest number of nodes."""
    changes = []
    before = baseline.jobs[-1].measures if baseline.jobs else {}
    for name, found in (report.jobs[-1].measures if report.jobs else {}).items():
        old = before.get(name)
        if old is None or old.value == 0:
            continue
        worse = worse_by(found.value, old.value, better=found.better)
        changes.append(
            Change(
                measure=name,
                value=found.value,
                baseline=old.value,
                change=(found.value - old.value) / abs(old.value),
                is_worse=worse is not None and worse > tolerance,
            )
        )
    return report.model_copy(update={"comparison": Comparison(run=baseline.run, tolerance=tolerance, changes=changes)})


def _verdict(states: Sequence[JobState], problems: Sequence[str]) -> Verdict:
    if any(state is JobState.STOPPED for state in states):
        return Verdict.STOPPED
    if any(state is JobState.FAILED for state in states):
        return Verdict.FAILED
    if any(state is not JobState.SUCCEEDED for state in states):
        return Verdict.UNFINISHED
    return Verdict.FAILED if problems else Verdict.PASSED


def _of_job(job: JobFacts, collected: Collected) -> list[str]:
    """Its reason speaks of tasks; where ranks are named, that is enough."""
    if job.state not in (JobState.FAILED, JobState.STOPPED):
        return []
    return [f"{job.id} {job.state}" if collected.failed else f"{job.id} {job.state}: {job.reason}"]


def _of_ranks(suite: Suite, job: JobFacts, collected: Collected, *, num_ranks: int) -> list[str]:
    """Ranks that failed, and ranks of a job that is over which left nothing."""
    if job.state not in (JobState.SUCCEEDED, JobState.FAILED):
        return []
    told = [f"rank {rank} {how}" for rank, how in sorted(collected.failed.items())]
    if not told and job.failed_task is not None:
        told = [f"task {job.failed_task}, {_ranks_text(_ranks_of(job.failed_task, suite.per_node))}, failed first"]
    missing = [rank for rank in range(num_ranks) if rank not in collected.results and rank not in collected.failed]
    if missing:
        told.append(f"{_ranks_text(missing)} left no result")
    strangers = sorted(rank for rank in collected.results if rank >= num_ranks)
    if strangers:
        told.append(f"expected {num_ranks} ranks, got a result of {_ranks_text(strangers)}")
    return [*told, *collected.problems]


def _of_numbers(suite: Suite, results: Mapping[int, RankResult]) -> list[str]:
    problems = []
    for rank, result in sorted(results.items()):
        for name, measure in suite.measures.items():
            value = result.metrics.get(name)
            if value is None and measure.is_from_all:
                problems.append(f"rank {rank} did not measure {name}")
            elif value is not None and not math.isfinite(value):
                problems.append(f"rank {rank}: {name}: expected a number, got {value}")
    return problems


def _ranks_of(task: int, per_node: int) -> list[int]:
    return list(range(task * per_node, (task + 1) * per_node))


def _ranks_text(ranks: Sequence[int]) -> str:
    shown = ", ".join(map(str, ranks[:20])) + (f" and {len(ranks) - 20} more" if len(ranks) > 20 else "")
    return f"rank {shown}" if len(ranks) == 1 else f"ranks {shown}"


def _scaling(suite: Suite, jobs: Sequence[JobReport]) -> list[ScalePoint]:
    """Only of what adds up: a sum over ranks."""
    values = {one.job.nodes: found.value for one in jobs if (found := one.measures.get(suite.main_measure)) is not None}
    if len(values) < 2 or str(suite.measures[suite.main_measure].over_ranks) != "sum":
        return []
    first = min(values)
    return [
        ScalePoint(nodes=nodes, value=value, efficiency=value * first / (values[first] * nodes) if values[first] else 0)
        for nodes, value in sorted(values.items())
    ]


def _curves(results: Sequence[RankResult]) -> dict[str, list[list[float]]]:
    found: dict[str, dict[float, list[float]]] = {}
    for result in results:
        for name, points in result.curves.items():
            for point in points:
                if len(point) == 2:
                    found.setdefault(name, {}).setdefault(point[0], []).append(point[1])
    return {
        name: [[x, statistics.median(values)] for x, values in sorted(points.items())] for name, points in found.items()
    }
