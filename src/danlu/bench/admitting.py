"""Measure nodes to judge them. Runs are sequential, because concurrent ones would slow each other down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Callable, NamedTuple, Optional

from danlu.bench import runs
from danlu.bench.admission import (
    MAX_PAST,
    Baseline,
    Judged,
    baseline_of,
    best_of,
    judge,
    measures_same,
    node_values,
    one_per_node,
    peers_of,
)
from danlu.bench.jobs import mode_of
from danlu.bench.report import Report, Verdict
from danlu.bench.suite import Mode, Suite
from danlu.client import Client
from danlu.errors import InvalidInput, NotFound

MAX_LOOKED_AT = 100
"""Maximum number of past runs of the suite that are searched for comparable ones."""


class Admission(NamedTuple):
    judged: list[Judged]
    reports: list[Report]
    missed: list[str]
    """Nodes that are online and got no task."""

    problems: list[str]
    """Problems of a run that did not pass; no node is judged then."""


class Rules(NamedTuple):
    repeat: int = 3
    """Number of runs. It is doubled when a node is below its baseline."""

    tolerance: float = 0.1
    nodes: Optional[int] = None
    """Number of nodes; None: all that are online and not drained."""

    baseline: Optional[str] = None
    """Run to compare with; None: comparable past runs."""


def admit(client: Client, suite: Suite, *, rules: Rules, say: Callable[[str], None]) -> Admission:
    """Measure every node alone and judge it; repeat if one is below its baseline. Does not drain nodes."""
    expected = _expected(client, suite, rules=rules)
    there = [node for node in client.nodes() if node.is_reachable and node.drain is None]
    if not there:
        raise NotFound("no node is open: nothing can be measured")
    alone = one_per_node(suite, [node.cpus for node in there]).model_copy(update={"nodes": rules.nodes or len(there)})
    reports = _measure(client, alone, times=rules.repeat, say=say)
    judged = _judged(reports, expected, tolerance=rules.tolerance)
    if suspects := [one.node for one in judged if one.is_below]:
        say(f"below the baseline: {', '.join(suspects)}; measuring once more")
        reports += _measure(client, alone, times=rules.repeat, say=say)
        judged = _judged(reports, expected, tolerance=rules.tolerance)
    if not judged:
        return Admission([], reports, [], reports[-1].problems)
    seen = {one.node for one in judged}
    return Admission(judged, reports, [node.name for node in there if node.name not in seen], [])


def drain(client: Client, found: Admission) -> list[str]:
    """Drain the nodes below their baseline, and return their names. Needs an admin."""
    below = [one for one in found.judged if one.is_below]
    for one in below:
        client.drain_node(one.node, one.sentence(found.reports))
    return [one.node for one in below]


def _expected(client: Client, suite: Suite, *, rules: Rules) -> dict[str, Baseline]:
    """Baselines from the named run, or else from comparable past runs."""
    better = suite.measures[suite.main_measure].better
    if rules.baseline is None:
        return baseline_of(_past(client, suite), better=better, tolerance=rules.tolerance)
    named = runs.make_report(client, runs.find(client, rules.baseline))
    if named.verdict is not Verdict.PASSED:
        told = f"expected a run that passed, got {named.run}: {named.verdict}"
        raise InvalidInput(told, fields={"baseline": told})
    return baseline_of([named], better=better, tolerance=rules.tolerance)


def _past(client: Client, suite: Suite) -> Iterator[Report]:
    """Reports of comparable past runs that passed and measured every node alone; newest first."""
    same = (run for run in runs.history(client, suite.name, limit=MAX_LOOKED_AT) if measures_same(suite, run.suite))
    for run in islice(filter(_is_alone, same), MAX_PAST):
        report = runs.make_report(client, run)
        if report.verdict is Verdict.PASSED:
            yield report


def _is_alone(run: runs.Run) -> bool:
    last = run.jobs[-1]
    return last.row.nodes == 1 or mode_of(last) is Mode.SINGLE_SERVER


def _measure(client: Client, suite: Suite, *, times: int, say: Callable[[str], None]) -> list[Report]:
    """Run the suite several times, until one run does not pass."""
    reports: list[Report] = []
    for number in range(times):
        run = runs.start(client, suite, mode=Mode.SINGLE_SERVER)
        say(f"{number + 1} of {times}: {run.id}")
        runs.wait(run)
        reports.append(runs.make_report(client, run))
        if reports[-1].verdict is not Verdict.PASSED:
            break
    return reports


def _judged(reports: Sequence[Report], expected: dict[str, Baseline], *, tolerance: float) -> list[Judged]:
    """The judged nodes; none if a run did not pass."""
    if reports[-1].verdict is not Verdict.PASSED:
        return []
    suite = reports[0].suite
    measure = suite.measures[suite.main_measure]
    values = best_of(map(node_values, reports), measure.better)
    return judge(values, expected, measure=measure, tolerance=tolerance, peers=peers_of(reports[-1]))
