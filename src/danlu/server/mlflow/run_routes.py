"""Runs and their metrics as MLflow's clients ask for them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from danlu.server.mlflow import found_runs, operations, runs
from danlu.server.mlflow.bodies import (
    MAX_RESULTS,
    CreateRun,
    LogBatch,
    LogMetric,
    LogModel,
    LogParam,
    NamedRun,
    RunKey,
    RunTag,
    SearchRuns,
    UpdateRun,
)
from danlu.server.mlflow.door import CurrentCaller
from danlu.server.runs import service
from danlu.server.state import State

router = APIRouter(prefix="/mlflow")


@router.post("/runs/create")
def create(body: CreateRun, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return {"run": operations.write(state, caller, found_runs.create, body)}


@router.get("/runs/get")
def get(named: Annotated[NamedRun, Query()], caller: CurrentCaller, state: State) -> dict[str, Any]:
    return {"run": operations.read(state, caller, found_runs.get, named.run)}


@router.post("/runs/update")
def update(body: UpdateRun, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return {"run_info": operations.update(state, caller, body)}


@router.post("/runs/delete")
def delete(body: NamedRun, caller: CurrentCaller, state: State) -> dict[str, Any]:
    with state.database.writing() as session:
        row = runs.find_to_change(session, caller, body.run, is_active=False)
        service.move_to_trash(session, state, caller.who, row)
    return {}


@router.post("/runs/restore")
def restore(body: NamedRun, caller: CurrentCaller, state: State) -> dict[str, Any]:
    with state.database.writing() as session:
        row = runs.find_to_change(session, caller, body.run, is_active=False)
        service.restore(session, state, caller.who, row.id)
    return {}


@router.post("/runs/search")
def search(body: SearchRuns, caller: CurrentCaller, state: State) -> dict[str, Any]:
    found, token = operations.read(state, caller, found_runs.search, body)
    return {"runs": found} if token is None else {"runs": found, "next_page_token": token}


@router.post("/runs/log-metric")
def log_metric(body: LogMetric, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.log_batch(state, caller, LogBatch(run_id=body.run, metrics=[body]))
    return {}


@router.post("/runs/log-parameter")
def log_parameter(body: LogParam, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.log_batch(state, caller, LogBatch(run_id=body.run, params=[body]))
    return {}


@router.post("/runs/set-tag")
def set_tag(body: RunTag, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.log_batch(state, caller, LogBatch(run_id=body.run, tags=[body]))
    return {}


@router.post("/runs/delete-tag")
def delete_tag(body: RunKey, caller: CurrentCaller, state: State) -> dict[str, Any]:
    state.database.write(runs.delete_tag, caller, body.run, body.key)
    return {}


@router.post("/runs/log-batch")
def log_batch(body: LogBatch, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.log_batch(state, caller, body)
    return {}


@router.post("/runs/log-model")
def log_model(body: LogModel, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.write(state, caller, runs.log_model, body)
    return {}


@router.get("/metrics/get-history")
def history(
    named: Annotated[NamedRun, Query()],
    caller: CurrentCaller,
    state: State,
    metric_key: Annotated[str, Query(max_length=500)],
    page_token: Annotated[str, Query(max_length=200)] = "",
    max_results: Annotated[int | None, Query(ge=1, le=MAX_RESULTS)] = None,
) -> dict[str, Any]:
    found, token = operations.history(state, caller, named.run, metric_key, token=page_token, limit=max_results)
    return {"metrics": found} if token is None else {"metrics": found, "next_page_token": token}
