"""Histories of one metric of many runs, complete or thinned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from danlu.errors import InvalidInput
from danlu.server.mlflow import operations
from danlu.server.mlflow.door import Caller
from danlu.server.mlflow.points import history_out
from danlu.server.state import ServerState
from danlu.store.metrics import histories
from danlu.store.metrics.points import Points

MAX_RUNS = 100
MAX_POINTS = 25_000
MAX_THINNED = 2500
MAX_OF_RUN = 2 * MAX_THINNED
"""Thinned points of a run that logged several at each step."""

Metric = dict[str, Any]


def of_runs(state: ServerState, caller: Caller, run_ids: Sequence[str], key: str, *, limit: int) -> list[Metric]:
    """All points, by run, time, step and value, up to the limit."""
    if not run_ids:
        raise InvalidInput("GetMetricHistoryBulk request must specify at least one run_id.")
    if len(run_ids) > MAX_RUNS:
        raise InvalidInput(
            f"GetMetricHistoryBulk request cannot specify more than {MAX_RUNS} run_ids, got {len(run_ids)}."
        )
    if not key:
        raise InvalidInput("GetMetricHistoryBulk request must specify a metric_key.")
    most = min(limit, MAX_POINTS)
    found: list[Metric] = []
    for run_id in sorted(set(run_ids)):
        points = operations.points_of(state, caller, run_id, key)
        found += _out(run_id, key, histories.by_time(points).take(slice(0, most - len(found))))
        if len(found) >= most:
            break
    return found


def thinned(
    state: ServerState,
    caller: Caller,
    run_ids: Sequence[str],
    key: str,
    *,
    between: tuple[int, int] | None,
    limit: int,
) -> list[Metric]:
    """The points of about `limit` steps, spread evenly over all steps of the runs, with each run's first and last."""
    chosen = histories.thinned(
        lambda run_id: histories.inside(operations.points_of(state, caller, run_id, key), between),
        list(dict.fromkeys(run_ids)),
        limit=limit,
        most_of_one=MAX_OF_RUN,
    )
    return [one for run_id, points in chosen for one in _out(run_id, key, points)]


def check_thinned(run_ids: Sequence[str], key: str, *, start: int | None, end: int | None, limit: int) -> None:
    if not run_ids:
        raise InvalidInput("Missing value for required parameter 'run_ids'.")
    if len(run_ids) > MAX_RUNS:
        raise InvalidInput(f"GetMetricHistoryBulkInterval request must specify at most {MAX_RUNS} run_ids.")
    if not key:
        raise InvalidInput("Missing value for required parameter 'metric_key'.")
    if not 1 <= limit <= MAX_THINNED:
        raise InvalidInput(f"max_results must be between 1 and {MAX_THINNED}, got {limit}.")
    if (start is None) != (end is None):
        raise InvalidInput("If either start step or end step are specified, both must be specified.")
    if start is not None and end is not None and start > end:
        raise InvalidInput(f"end_step must be greater than start_step. Found start_step={start} and end_step={end}.")


def _out(run_id: str, key: str, points: Points) -> list[Metric]:
    return [{**one, "run_id": run_id} for one in history_out(key, points)]
