"""Models that runs have logged: a name, parameters and files, before they are registered."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import JobIdentity
from danlu.errors import InvalidInput, NotAllowed, NotFound
from danlu.server.mlflow import experiments, runs
from danlu.server.mlflow.bodies import CreateLoggedModel, Param, SearchLoggedModels, Tag
from danlu.server.mlflow.door import Caller, actor_of
from danlu.server.mlflow.experiments import check_project, compares, id_of, milliseconds
from danlu.server.mlflow.tokens import offset_in, token_of
from danlu.server.state import ServerState
from danlu.store.metrics.decode import clean
from danlu.store.queries.mlflow import records as mlflow
from danlu.store.queries.mlflow.filter import Comparison, parse_filter
from danlu.store.sql.mlflow_tables import LoggedModelRow

MAX_SEARCHED = 10_000
_ID = re.compile(r"m-[0-9a-f]{32}")
PENDING, READY, FAILED = "LOGGED_MODEL_PENDING", "LOGGED_MODEL_READY", "LOGGED_MODEL_UPLOAD_FAILED"


def create(session: Session, state: ServerState, caller: Caller, body: CreateLoggedModel) -> dict[str, Any]:
    experiment = experiments.find(session, caller, body.experiment_id)
    run = runs.find_to_change(session, caller, body.source_run_id) if body.source_run_id else None
    if run is None:
        check_project(caller, experiment.project_id)
    model_id = f"m-{secrets.token_hex(16)}"
    row = LoggedModelRow(
        id=model_id,
        project_id=experiment.project_id,
        owner_id=run.owner_id if run is not None else actor_of(caller).user_id,
        folder=experiment.folder,
        run_id=None if run is None else run.id,
        name=clean(body.name) or model_id,
        model_type=clean(body.model_type),
        status=PENDING,
        params=_pairs(body.params),
        tags=_pairs(body.tags),
        created_at=state.now(),
        updated_at=state.now(),
    )
    mlflow.add_logged_model(session, row)
    return {"model": model_out(row, id_of(experiment))}


def get(session: Session, caller: Caller, model_id: str) -> dict[str, Any]:
    row = find(session, caller, model_id)
    return {"model": model_out(row, _experiment_id(session, row))}


def find(session: Session, caller: Caller, model_id: str) -> LoggedModelRow:
    is_id = _ID.fullmatch(model_id) is not None
    row = mlflow.logged_model(session, caller.project_id(session), model_id) if is_id else None
    if row is not None and isinstance(caller.who, JobIdentity) and caller.who.owner is None:
        # a job without `access` sees its own runs only
        row = row if row.run_id is not None and runs.find(session, caller, row.run_id) else None
    if row is None:
        raise NotFound(f"Logged model with ID '{model_id[:80]}' not found")
    return row


def find_to_change(session: Session, caller: Caller, model_id: str) -> LoggedModelRow:
    """As for its run; without one as for a job."""
    row = find(session, caller, model_id)
    if row.run_id is not None:
        runs.find_to_change(session, caller, row.run_id)
    elif not rights.can_change_job(actor_of(caller), project_id=row.project_id, owner_id=row.owner_id):
        raise NotAllowed(f"you may not change {row.id}; ask its owner or an owner of its project")
    return row


def finalize(session: Session, state: ServerState, caller: Caller, model_id: str, status: str) -> dict[str, Any]:
    if status not in (READY, FAILED):
        raise InvalidInput(f"status: expected {READY} or {FAILED}, got {status!r}")
    row = find_to_change(session, caller, model_id)
    row.status, row.updated_at = status, state.now()
    return {"model": model_out(row, _experiment_id(session, row))}


def set_tags(
    session: Session, state: ServerState, caller: Caller, model_id: str, tags: Sequence[Tag]
) -> dict[str, Any]:
    row = find_to_change(session, caller, model_id)
    row.tags, row.updated_at = {**row.tags, **_pairs(tags)}, state.now()
    return {"model": model_out(row, _experiment_id(session, row))}


def delete_tag(session: Session, state: ServerState, caller: Caller, model_id: str, key: str) -> dict[str, Any]:
    row = find_to_change(session, caller, model_id)
    if key not in row.tags:
        raise NotFound(f"No tag with key '{key}' found for logged model '{row.id}'")
    row.tags, row.updated_at = {name: value for name, value in row.tags.items() if name != key}, state.now()
    return {}


def add_params(
    session: Session, state: ServerState, caller: Caller, model_id: str, params: Sequence[Param]
) -> dict[str, Any]:
    row = find_to_change(session, caller, model_id)
    row.params, row.updated_at = {**row.params, **_pairs(params)}, state.now()
    return {}


def delete(session: Session, state: ServerState, caller: Caller, model_id: str) -> dict[str, Any]:
    find_to_change(session, caller, model_id).deleted_at = state.now()
    return {}


def search(session: Session, caller: Caller, body: SearchLoggedModels) -> dict[str, Any]:
    """Newest first."""
    tests = parse_filter(body.filter)
    found = [experiments.find(session, caller, one) for one in body.experiment_ids]
    ids = {row.folder: id_of(row) for row in found}
    before = offset_in(body.page_token) or None
    project_id = caller.project_id(session)
    only = caller.only_job(project_id)
    rows = mlflow.logged_models_in(session, project_id, list(ids), of_job=only, before=before, limit=MAX_SEARCHED)
    passing = [row for row in rows if all(_passes(row, test) for test in tests)]
    page = passing[: body.max_results]
    answer: dict[str, Any] = {"models": [model_out(row, ids[row.folder]) for row in page]}
    return answer | {"next_page_token": token_of(page[-1].number)} if len(passing) > len(page) else answer


def _passes(row: LoggedModelRow, test: Comparison) -> bool:
    if test.kind == "tag":
        return compares(row.tags.get(test.key), test)
    if test.kind == "param":
        return compares(row.params.get(test.key), test)
    known = {
        "name": row.name,
        "model_id": row.id,
        "model_type": row.model_type,
        "source_run_id": row.run_id or "",
        "status": row.status.removeprefix("LOGGED_MODEL_"),
        "creation_time": milliseconds(row.created_at),
        "last_update_time": milliseconds(row.updated_at),
    }
    if test.kind != "attribute" or test.key not in known:
        raise InvalidInput(f"filter: expected one of {', '.join(known)}, a tag or a parameter, got {test.key!r}")
    return compares(known[test.key], test)


def model_out(row: LoggedModelRow, experiment_id: str) -> dict[str, Any]:
    return {
        "info": {
            "model_id": row.id,
            "experiment_id": experiment_id,
            "name": row.name,
            "creation_timestamp_ms": milliseconds(row.created_at),
            "last_updated_timestamp_ms": milliseconds(row.updated_at),
            "artifact_uri": artifact_uri(row.id),
            "status": row.status,
            "model_type": row.model_type,
            "source_run_id": row.run_id or "",
            "tags": [{"key": key, "value": value} for key, value in sorted(row.tags.items())],
        },
        "data": {"params": [{"key": key, "value": value} for key, value in sorted(row.params.items())]},
    }


def artifact_uri(model_id: str) -> str:
    return f"mlflow-artifacts:/models/{model_id}"


def _experiment_id(session: Session, row: LoggedModelRow) -> str:
    found = mlflow.experiment_of(session, row.project_id, row.folder)
    return experiments.DEFAULT_ID if found is None else id_of(found)


def _pairs(values: Sequence[Tag] | Sequence[Param]) -> dict[str, str]:
    return {clean(one.key): clean(one.value) for one in values}
