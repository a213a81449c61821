"""Aggregate results of ranks: over all ranks, or per server and then the mean over servers. Pure.

Normal mode: one training over all ranks; throughput is the sum over all ranks. Single-server mode: every server trains
alone; its ranks are added up, and the result is the mean over servers (T/CESA 1169, as in AIS-Bench, but for any number
of devices per server).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Callable, Optional

from pydantic import BaseModel, ConfigDict

from danlu.bench.results import RankResult
from danlu.bench.suite import Better, Measure, Mode, OverRanks

_OVER: dict[OverRanks, Callable[[Sequence[float]], float]] = {
    OverRanks.SUM: math.fsum,
    OverRanks.MEAN: statistics.fmean,
    OverRanks.MIN: min,
    OverRanks.MAX: max,
}


class ServerValue(BaseModel):
    model_config = ConfigDict(frozen=True)

    server: int
    node: str
    value: float


class Aggregate(BaseModel):
    """One measure of a run."""

    model_config = ConfigDict(frozen=True)

    unit: str
    better: Better
    over_ranks: OverRanks
    value: float
    ranks: dict[int, float]
    servers: list[ServerValue]
    spread: float
    """(largest - smallest) / mean of the ranks."""

    steps_spread: float
    """Standard deviation / mean of the single measurements within a rank; the median over ranks."""

    outliers: list[int]
    """Ranks that differ from the median by more than the suite allows."""

    slowest: Optional[ServerValue]
    """The worst server; None if there is only one."""

    slow: list[ServerValue]
    """Servers that are worse than the median by more than the suite allows."""


def aggregate(
    results: Mapping[int, RankResult], name: str, *, measure: Measure, mode: Mode, outlier: float
) -> Optional[Aggregate]:
    """Aggregate a measure; None if no rank has measured it."""
    found = {rank: result for rank, result in sorted(results.items()) if name in result.metrics}
    if not found:
        return None
    ranks = {rank: result.metrics[name] for rank, result in found.items()}
    servers = _servers(found, name, measure)
    over = _OVER[measure.over_ranks]
    value = over(list(ranks.values())) if mode is Mode.NORMAL else statistics.fmean(one.value for one in servers)
    ordered = sorted(servers, key=lambda one: one.value, reverse=measure.better is Better.LOWER)
    return Aggregate(
        unit=measure.unit,
        better=measure.better,
        over_ranks=measure.over_ranks,
        value=float(value),
        ranks=ranks,
        servers=servers,
        spread=_spread(list(ranks.values())),
        steps_spread=_steps_spread([result.samples.get(name, []) for result in found.values()]),
        outliers=[rank for rank, value in ranks.items() if abs(_distance(value, list(ranks.values()))) > outlier],
        slowest=ordered[0] if len(ordered) > 1 else None,
        slow=[
            one for one in ordered if is_worse(one.value, _middle(servers), better=measure.better, tolerance=outlier)
        ],
    )


def is_worse(value: float, reference: float, *, better: Better, tolerance: float) -> bool:
    """Whether a value is worse than the reference by more than the tolerance."""
    change = worse_by(value, reference, better=better)
    return change is not None and change > tolerance


def worse_by(value: float, reference: float, *, better: Better) -> Optional[float]:
    """How much worse a value is, as a fraction of the reference; negative if better. None if the reference is 0."""
    if reference == 0:
        return None
    change = (reference - value) / abs(reference)
    return change if better is Better.HIGHER else -change


def _servers(found: Mapping[int, RankResult], name: str, measure: Measure) -> list[ServerValue]:
    by_server: dict[int, list[RankResult]] = {}
    for result in found.values():
        by_server.setdefault(result.server, []).append(result)
    over = _OVER[measure.over_ranks]
    return [
        ServerValue(server=server, node=some[0].node, value=float(over([one.metrics[name] for one in some])))
        for server, some in sorted(by_server.items())
    ]


def _middle(servers: Sequence[ServerValue]) -> float:
    return statistics.median(one.value for one in servers)


def _distance(value: float, values: Sequence[float]) -> float:
    middle = statistics.median(values)
    return (value - middle) / abs(middle) if middle else 0.0


def _spread(values: Sequence[float]) -> float:
    mean = statistics.fmean(values)
    return (max(values) - min(values)) / abs(mean) if mean else 0.0


def _steps_spread(samples: Sequence[Sequence[float]]) -> float:
    found = [statistics.pstdev(one) / mean for one in samples if len(one) > 1 and (mean := abs(statistics.fmean(one)))]
    return statistics.median(found) if found else 0.0
