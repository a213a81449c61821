"""Judge whether nodes are as fast as expected. Pure; `admitting` measures them and drains those that are not.

The best of several runs counts for a node, and its better past runs: noise makes a node slower, never faster. Its
baseline is its own past, or else the current values of peers with the same hardware. A change that the other nodes
share is not a fault of the node, which is not drained then.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Optional

from danlu.bench.aggregate import is_worse, worse_by
from danlu.bench.markdown import number, signed
from danlu.bench.report import Report
from danlu.bench.suite import Better, Measure, Suite
from danlu.spec.states import Word
from danlu.spec.units import parse_device

MIN_PEERS = 3
"""Minimum number of equal nodes, including the node itself, to judge a node without a past."""

MAX_PAST = 30
"""Maximum number of runs in a baseline, newest first."""

NUM_BEST = 3
"""Number of runs that must have reached a level before it is expected."""

_COMPARED = {"name", "work", "command", "data", "device", "image", "framework", "env", "parameters"}
"""Fields of a suite that determine what is measured."""

_HARDWARE = ("machine", "cpu", "cpus", "device_type", "device")


class Standing(Word):
    OK = "ok"
    BELOW = "below"
    SHARED = "below, as the others are"
    UNKNOWN = "no baseline"

    @property
    def is_bad(self) -> bool:
        return self in (Standing.BELOW, Standing.SHARED)


class Baseline(NamedTuple):
    value: float
    """The expected value of an undisturbed node."""

    spread: float = 0.0
    """Relative variation of the better runs: their interquartile range. A smaller change is noise."""


class Judged(NamedTuple):
    node: str
    value: float
    baseline: Optional[float]
    """None for a node without a past and with too few peers."""

    worse: float
    """How much worse than the baseline, as a fraction of it; negative if better."""

    standing: Standing

    @property
    def is_below(self) -> bool:
        return self.standing is Standing.BELOW

    def sentence(self, reports: Sequence[Report]) -> str:
        """The reason of the drain."""
        last = reports[-1]
        name = last.suite.main_measure
        unit = last.suite.measures[name].unit
        assert self.baseline is not None
        change = (self.value - self.baseline) / abs(self.baseline)
        return (
            f"bench {last.suite.name}: {name} {number(self.value)} {unit}, baseline {number(self.baseline)} {unit} "
            f"({signed(change)}), best of {len(reports)}, {last.run}"
        )


def one_per_node(suite: Suite, cpus: Sequence[float]) -> Suite:
    """The suite, with all cores reserved if it uses only the CPU, so that each node gets one task."""
    if suite.cpus is not None or parse_device(suite.device).is_scarce or len(cpus) < 2:
        return suite
    return suite.model_copy(update={"cpus": min(cpus)})


def node_values(report: Report) -> dict[str, float]:
    """Node -> its main measure, or their median if several servers of the run were on the node."""
    main = report.main
    by_node: dict[str, list[float]] = {}
    for server in main.servers if main is not None else ():
        by_node.setdefault(server.node, []).append(server.value)
    return {node: statistics.median(values) for node, values in by_node.items()}


def best_of(values: Iterable[Mapping[str, float]], better: Better) -> dict[str, float]:
    choose = max if better is Better.HIGHER else min
    return {node: choose(some) for node, some in _by_node(values).items()}


def measures_same(one: Suite, other: Suite) -> bool:
    """Whether results of the two can be compared. Reserved resources and criteria may differ."""
    return one.model_dump(include=_COMPARED) == other.model_dump(include=_COMPARED)


def baseline_of(past: Iterable[Report], *, better: Better, tolerance: float) -> dict[str, Baseline]:
    """Node -> baseline from its better runs.

    These are the NUM_BEST best runs and all within the tolerance of the last of them, so that neither many slow or
    disturbed runs nor a single lucky one determine the baseline.
    """
    by_node = _by_node(node_values(report) for report in past)
    return {node: _baseline(values, better=better, tolerance=tolerance) for node, values in by_node.items()}


def peers_of(report: Report) -> dict[str, set[str]]:
    """Node -> the nodes with the same hardware, including itself."""
    kinds = {
        one.node: tuple(str(one.facts.get(name)) for name in _HARDWARE) for job in report.jobs for one in job.servers
    }
    return {node: {other for other, its in kinds.items() if its == kind} for node, kind in kinds.items()}


def judge(
    values: Mapping[str, float],
    baseline: Mapping[str, Baseline],
    *,
    measure: Measure,
    tolerance: float,
    peers: Optional[Mapping[str, set[str]]] = None,
) -> list[Judged]:
    """Compare every node with its baseline or, without one, with the median of its peers, if there are enough.

    `peers`: nodes with the same hardware; None: all nodes are equal.
    """
    references = {node: _reference(node, values, baseline, peers) for node in values}
    worse = {
        node: change
        for node, reference in references.items()
        if reference is not None
        and (change := worse_by(values[node], reference.value, better=measure.better)) is not None
    }
    judged = []
    for node, value in sorted(values.items()):
        reference = references[node]
        if reference is None or node not in worse:
            judged.append(Judged(node, value, None, 0.0, Standing.UNKNOWN))
            continue
        allowed = max(tolerance, reference.spread)
        standing = Standing.OK
        if worse[node] > allowed:
            others = [change for other, change in worse.items() if other != node]
            is_own = not others or _beyond(worse[node], statistics.median(others)) > allowed
            standing = Standing.BELOW if is_own else Standing.SHARED
        judged.append(Judged(node, value, reference.value, worse[node], standing))
    return judged


def _by_node(values: Iterable[Mapping[str, float]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for one in values:
        for node, value in one.items():
            found.setdefault(node, []).append(value)
    return found


def _baseline(values: Sequence[float], *, better: Better, tolerance: float) -> Baseline:
    best = sorted(values, reverse=better is Better.HIGHER)
    reached = best[min(NUM_BEST, len(best)) - 1]
    kept = [value for value in best if not is_worse(value, reached, better=better, tolerance=tolerance)]
    if len(kept) == 1:
        return Baseline(kept[0])
    low, _, high = statistics.quantiles(kept, n=4, method="inclusive")
    value = high if better is Better.HIGHER else low
    return Baseline(value, (high - low) / abs(value) if value else 0.0)


def _reference(
    node: str, values: Mapping[str, float], baseline: Mapping[str, Baseline], peers: Optional[Mapping[str, set[str]]]
) -> Optional[Baseline]:
    if node in baseline:
        return baseline[node]
    alike = [value for other, value in values.items() if peers is None or other in peers.get(node, {node})]
    return Baseline(statistics.median(alike)) if len(alike) >= MIN_PEERS else None


def _beyond(worse: float, common: float) -> float:
    """How much worse a node is, minus what the others have lost; a gain of the others does not count."""
    return worse - max(0.0, common)
