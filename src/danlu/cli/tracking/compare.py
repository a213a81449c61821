"""Output of `danlu runs compare`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from danlu.cli.output import bold, table
from danlu.cli.sparkline import sparkline
from danlu.cli.tracking.runs import last_text, number, state_text
from danlu.spec.runs import flatten
from danlu.wire.runs import RunOut, SeriesPoints

_WIDTH = 16


def as_text(runs: Sequence[RunOut], metrics: Sequence[str], lines: Sequence[SeriesPoints], *, with_same: bool) -> str:
    """A column per run: facts, hyperparameters, metrics."""
    parts = [_facts(runs)]
    values = [flatten(run.hparams) for run in runs]
    keys = sorted({key for one in values for key in one})
    shown = [key for key in keys if with_same or len({repr(one.get(key)) for one in values}) > 1]
    if shown:
        rows = [[f"  {key}", *(str(one.get(key, "-")) for one in values)] for key in shown]
        parts.append(table(["  HPARAM", *names_of(runs)], rows))
    elif keys:
        parts.append(f"  the {len(keys)} hyperparameters are the same; --all shows them")
    if metrics:
        parts.append(table(["  METRIC", "", *names_of(runs)], _metric_rows(runs, metrics, lines)))
    return "\n\n".join(parts)


def as_data(runs: Sequence[RunOut], metrics: Sequence[str], lines: Sequence[SeriesPoints]) -> dict[str, Any]:
    """The comparison as data."""
    return {
        "runs": [{"id": run.id, "name": run.name, "state": str(run.state), "hparams": run.hparams} for run in runs],
        "metrics": {
            metric: {
                run.id: {
                    "last": one.last,
                    "odd": one.odd,
                    "min": one.low,
                    "max": one.high,
                    "num_points": one.num_points,
                }
                for run in runs
                for one in run.metrics
                if f"{one.type}/{one.name}" == metric
            }
            for metric in metrics
        },
        "lines": [line.model_dump(mode="json") for line in lines],
    }


def _facts(runs: Sequence[RunOut]) -> str:
    rows = [[run.id, run.name, state_text(run), str(run.step if run.step is not None else "-")] for run in runs]
    return table(["RUN", "NAME", "STATE", "STEP"], rows)


def _metric_rows(runs: Sequence[RunOut], metrics: Sequence[str], lines: Sequence[SeriesPoints]) -> list[list[str]]:
    by_key = {(line.run, f"{line.type}/{line.name}"): line for line in lines}
    rows: list[list[str]] = []
    for metric in metrics:
        rolled = [{f"{one.type}/{one.name}": one for one in run.metrics}.get(metric) for run in runs]
        for title, field in (("last", "last"), ("min", "low"), ("max", "high")):
            shown = [
                None if one is None else last_text(one) if title == "last" else number(getattr(one, field))
                for one in rolled
            ]
            cells = ["-" if text is None else text for text in shown]
            rows.append([f"  {metric}" if title == "last" else "", title, *_with_best(cells, title)])
        trends = [by_key.get((run.id, metric)) for run in runs]
        rows.append(["", "trend", *("" if one is None else sparkline(one.value, _WIDTH) for one in trends)])
    return rows


def _with_best(cells: list[str], title: str) -> list[str]:
    """Highlight the lowest minimum and the highest maximum."""
    known = [float(cell) for cell in cells if cell != "-"]
    if title == "last" or len(known) < 2:
        return cells
    best = min(known) if title == "min" else max(known)
    return [bold(cell) if cell != "-" and float(cell) == best else cell for cell in cells]


def names_of(runs: Sequence[RunOut]) -> list[str]:
    names = [run.name for run in runs]
    return names if len(set(names)) == len(names) else [run.id[:12] for run in runs]
