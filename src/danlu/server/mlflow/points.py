"""Converts metrics of MLflow's clients to frames of a run's journal, and back."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from danlu import journal
from danlu.errors import InvalidInput
from danlu.server.mlflow.bodies import Metric
from danlu.store.metrics.decode import clean
from danlu.store.metrics.points import Points
from danlu.store.sql.run_tables import SeriesRow

JOURNAL = "mlflow"
MAX_TYPE_CHARS = 60
_WORDS = {"NaN": math.nan, "nan": math.nan, "Infinity": math.inf, "inf": math.inf, "-Infinity": -math.inf}


class Name(NamedTuple):
    """`val/acc` is the metric acc of the type val."""

    type: str
    name: str


def name_in(key: str) -> Name:
    type_, slash, name = clean(key).partition("/")
    if slash and type_ and name and len(type_) <= MAX_TYPE_CHARS:
        return Name(type_, name)
    return Name("", clean(key))


def key_of(series: SeriesRow) -> str:
    return f"{series.type}/{series.name}" if series.type else series.name


def frames(metrics: Iterable[Metric]) -> list[bytes]:
    by_name: dict[Name, list[bytes]] = {}
    pack = journal.row_struct(1).pack
    for metric in metrics:
        row = pack(metric.step, metric.timestamp / 1000, math.nan, number_in(metric))
        by_name.setdefault(name_in(metric.key), []).append(row)
    found = []
    for name, rows in by_name.items():
        # the same name has the same number, so that declaring it again changes nothing
        number = zlib.crc32(repr(name).encode()) & 0x7FFFFFFF
        found += [journal.encode_layout(journal.Layout(number, name.type, (name.name,)))]
        found += [journal.encode_points(number, rows)]
    return found


def number_in(metric: Metric) -> float:
    if isinstance(metric.value, str) and metric.value in _WORDS:
        return _WORDS[metric.value]
    if isinstance(metric.value, bool) or not isinstance(metric.value, (int, float)):
        raise InvalidInput(
            f"Invalid value {metric.value!r} for parameter 'value' of metric '{metric.key}': expected a number"
        )
    try:
        return float(metric.value)
    except OverflowError as error:
        raise InvalidInput(f"Invalid value for metric '{metric.key}': it is too large") from error


def metric_out(key: str, value: float, *, at: float, step: int) -> dict[str, Any]:
    return {"key": key, "value": _sendable(value), "timestamp": round(at * 1000), "step": step}


def latest_out(series: SeriesRow) -> dict[str, Any]:
    value = series.last if series.last is not None else float(series.odd or "nan")
    return metric_out(key_of(series), value, at=series.at, step=series.step)


def history_out(key: str, points: Points) -> list[dict[str, Any]]:
    columns = zip(points.steps.tolist(), points.times.tolist(), points.values.tolist())
    return [metric_out(key, value, at=at, step=step) for step, at, value in columns]


def _sendable(value: float) -> float | str:
    """JSON has no such numbers; protocol buffers encode them as these strings."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
