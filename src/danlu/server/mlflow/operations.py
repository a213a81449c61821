"""What takes several transactions: metrics go to files between them, and histories are read from files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from danlu.journal import encode_finish
from danlu.server.mlflow import experiments, runs
from danlu.server.mlflow.bodies import LogBatch, UpdateRun
from danlu.server.mlflow.door import Caller
from danlu.server.mlflow.points import JOURNAL, frames, history_out, key_of
from danlu.server.mlflow.run_view import info_out, surroundings_of
from danlu.server.mlflow.tokens import offset_in, token_of
from danlu.server.runs.operations import append_frames
from danlu.server.state import ServerState
from danlu.store.queries import mlflow

T = TypeVar("T")
MAX_HISTORY = 25_000


def read(state: ServerState, caller: Caller, function: Callable[..., T], *args: Any) -> T:
    """Read something of a project, all of whose folders are experiments."""
    if state.database.read(experiments.is_any_missing, caller):
        state.database.write(experiments.make_missing, state, caller)
    return state.database.read(function, caller, *args)


def write(state: ServerState, caller: Caller, function: Callable[..., T], *args: Any) -> T:
    """The same for a change."""
    if state.database.read(experiments.is_any_missing, caller):
        state.database.write(experiments.make_missing, state, caller)
    return state.database.write(function, state, caller, *args)


def log_batch(state: ServerState, caller: Caller, body: LogBatch) -> None:
    """Store a batch; all of it is checked before anything of it is stored."""
    row = state.database.write(runs.take_batch, state, caller, body)
    if body.metrics:
        append_frames(state, row, JOURNAL, frames(body.metrics))


def update(state: ServerState, caller: Caller, body: UpdateRun) -> dict[str, Any]:
    """Rename a run, end it, or let it go on."""
    end = None if body.status is None else runs.end_of(body.status)
    with state.database.writing() as session:
        row = runs.find_to_change(session, caller, body.run)
        if body.run_name is not None:
            runs.rename(session, state, caller, row, body.run_name)
        if body.status is not None and end is None:
            runs.reopen(session, row)
    if end is not None:
        at = runs.moment(body.end_time, state.now()).timestamp()
        append_frames(state, row, JOURNAL, [encode_finish(end.value, time=at)])
    with state.database.reading() as session:
        row = runs.find(session, caller, body.run)
        return info_out(row, surroundings_of(session, row.project_id, [row]))


def history(
    state: ServerState, caller: Caller, run_id: str, key: str, *, token: str, limit: int | None
) -> tuple[list[dict[str, Any]], str | None]:
    """A page of a metric's points in the order in which they were logged, and the token of the next page."""
    with state.database.reading() as session:
        row = runs.find(session, caller, run_id)
        series = next((one for one in mlflow.series_of(session, [row.number])[row.number] if key_of(one) == key), None)
        pieces = () if series is None else state.metrics.reader.all_points(session, row, series)
    points = list(history_out(key, [points for _, points, _ in pieces]))
    offset = offset_in(token)
    page = points[offset : offset + (limit or MAX_HISTORY)]
    is_more = offset + len(page) < len(points)
    return page, token_of(offset + len(page)) if is_more else None
