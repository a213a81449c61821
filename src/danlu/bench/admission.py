"""Which nodes are as fast as they should be; those that are not are drained, with the reason.

A node counts with the best of several runs: noise makes a node slower and never faster, and a node that is slow is
slow every time. What it should be is its own past, else that of its peers.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Optional

from danlu.bench.aggregate import worse_by
from danlu.bench.markdown import number, signed
from danlu.bench.report import Report, Verdict
from danlu.bench.suite import Better, Measure, Suite
from danlu.client import Client
from danlu.spec.units import parse_device

MIN_PEERS = 3
"""Fewer nodes say nothing about each other."""


class Judged(NamedTuple):
    node: str
    value: float
    baseline: Optional[float]
    """None: it has no past, and too few peers."""

    worse: float
    is_below: bool

    def sentence(self, report: Report) -> str:
        """The reason that people read who wait for the node."""
        name = report.suite.main_measure
        unit = report.suite.measures[name].unit
        assert self.baseline is not None
        change = (self.value - self.baseline) / abs(self.baseline)
        return (
            f"bench {report.suite.name}: {name} {number(self.value)} {unit}, baseline {number(self.baseline)} {unit} "
            f"({signed(change)}), {report.run}"
        )


def one_per_node(suite: Suite, cpus: Sequence[float]) -> Suite:
    """The suite, with all cores of a node reserved when it asks for none of its devices: each node gets one task."""
    if suite.cpus is not None or parse_device(suite.device).is_scarce or len(cpus) < 2:
        return suite
    return suite.model_copy(update={"cpus": min(cpus)})


def node_values(report: Report) -> dict[str, float]:
    """Node -> its main measure; the median where several servers of the run were on it."""
    main = report.main
    by_node: dict[str, list[float]] = {}
    for server in main.servers if main is not None else ():
        by_node.setdefault(server.node, []).append(server.value)
    return {node: statistics.median(values) for node, values in by_node.items()}


def best_of(values: Iterable[Mapping[str, float]], better: Better) -> dict[str, float]:
    choose = max if better is Better.HIGHER else min
    found: dict[str, float] = {}
    for one in values:
        for node, value in one.items():
            found[node] = choose(found[node], value) if node in found else value
    return found


def baseline_of(past: Iterable[Report]) -> dict[str, float]:
    """Node -> the median of what it had in runs that passed."""
    by_node: dict[str, list[float]] = {}
    for report in past:
        if report.verdict is Verdict.PASSED:
            for node, value in node_values(report).items():
                by_node.setdefault(node, []).append(value)
    return {node: statistics.median(values) for node, values in by_node.items()}


def judge(
    values: Mapping[str, float], baseline: Mapping[str, float], *, measure: Measure, tolerance: float
) -> list[Judged]:
    """Every node against its baseline; one that has none against the median of all, where there are enough."""
    peers = statistics.median(values.values()) if len(values) >= MIN_PEERS else None
    judged = []
    for node, value in sorted(values.items()):
        reference = baseline.get(node, peers)
        worse = None if reference is None else worse_by(value, reference, better=measure.better)
        judged.append(Judged(node, value, reference, worse or 0.0, worse is not None and worse > tolerance))
    return judged


def drain(client: Client, judged: Sequence[Judged], *, report: Report) -> list[str]:
    """Drain what is below its baseline, and return the names. For admins."""
    below = [one for one in judged if one.is_below]
    for one in below:
        client.drain_node(one.node, one.sentence(report))
    return [one.node for one in below]
