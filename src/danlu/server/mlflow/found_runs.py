"""Runs for MLflow's clients: created, found, or searched for in MLflow's own language."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from sqlalchemy.orm import Session

from danlu.errors import InvalidInput
from danlu.server.mlflow import experiments, runs
from danlu.server.mlflow.bodies import CreateRun, SearchRuns
from danlu.server.mlflow.door import Caller
from danlu.server.mlflow.run_view import run_out, surroundings_of
from danlu.server.mlflow.runs import STATUSES
from danlu.server.mlflow.tokens import offset_in, token_of
from danlu.server.state import ServerState
from danlu.store.queries.mlflow import records as mlflow
from danlu.store.queries.mlflow.filter import parse_filter, parse_order
from danlu.store.queries.mlflow.search import RunSearch
from danlu.store.sql.run_tables import RunRow

MAX_PAGE_CHARS = 16 << 20
"""Characters of tags, parameters and datasets in one response."""

_VIEWS = {"ACTIVE_ONLY": False, "DELETED_ONLY": True, "ALL": None}


def create(session: Session, state: ServerState, caller: Caller, body: CreateRun) -> dict[str, Any]:
    return _one(session, runs.create(session, state, caller, body))


def get(session: Session, caller: Caller, run_id: str) -> dict[str, Any]:
    return _one(session, runs.find(session, caller, run_id))


def search(session: Session, caller: Caller, body: SearchRuns) -> tuple[list[dict[str, Any]], str | None]:
    """A page of runs, and the token of the next one."""
    if body.run_view_type not in _VIEWS:
        raise InvalidInput(f"run_view_type: expected one of {', '.join(_VIEWS)}, got {body.run_view_type[:40]!r}")
    offset = offset_in(body.page_token)
    folders = [experiments.find(session, caller, one).folder for one in dict.fromkeys(body.experiment_ids)]
    project_id = caller.project_id(session)
    found = RunSearch(session, project_id, folders)
    found.only(is_deleted=_VIEWS[body.run_view_type])
    if (job_id := caller.only_job(project_id)) is not None:
        found.only_of_job(job_id)
    found.where(parse_filter(body.filter), _states)
    rows = found.page([parse_order(text) for text in body.order_by], offset=offset, limit=body.max_results + 1)
    page = _sendable(session, rows[: body.max_results])
    is_more = len(rows) > len(page)
    around = surroundings_of(session, project_id, page)
    return [run_out(row, around) for row in page], token_of(offset + len(page)) if is_more else None


def _sendable(session: Session, rows: Sequence[RunRow]) -> Sequence[RunRow]:
    """The first runs that fit into one response, at least one: the rest is on the next page."""
    sizes = mlflow.num_chars(session, [row.number for row in rows])
    until = accumulate(sizes[row.number] for row in rows)
    return rows[: max(1, sum(size <= MAX_PAGE_CHARS for size in until))]


def _one(session: Session, row: RunRow) -> dict[str, Any]:
    return run_out(row, surroundings_of(session, row.project_id, [row]))


def _states(status: str) -> list[str]:
    return [state.value for state in STATUSES.get(status.upper(), ())]
