"""Experiments as MLflow's clients ask for them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from danlu.server.mlflow import experiments, operations
from danlu.server.mlflow.bodies import (
    CreateExperiment,
    ExperimentTag,
    NamedExperiment,
    SearchExperiments,
    UpdateExperiment,
)
from danlu.server.mlflow.door import CurrentCaller
from danlu.server.mlflow.experiments import experiment_out
from danlu.server.state import State

router = APIRouter(prefix="/mlflow/experiments")


@router.post("/create")
def create(body: CreateExperiment, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return {"experiment_id": operations.write(state, caller, experiments.create, body)}


@router.get("/get")
def get(experiment_id: Annotated[str, Query(max_length=40)], caller: CurrentCaller, state: State) -> dict[str, Any]:
    return {"experiment": experiment_out(operations.read(state, caller, experiments.find, experiment_id))}


@router.get("/get-by-name")
def get_by_name(
    experiment_name: Annotated[str, Query(max_length=500)], caller: CurrentCaller, state: State
) -> dict[str, Any]:
    return {"experiment": experiment_out(operations.read(state, caller, experiments.find_by_name, experiment_name))}


@router.get("/search")
def search_by_query(body: Annotated[SearchExperiments, Query()], caller: CurrentCaller, state: State) -> dict[str, Any]:
    return _page(*operations.read(state, caller, experiments.search, body))


@router.post("/search")
def search(body: SearchExperiments, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return _page(*operations.read(state, caller, experiments.search, body))


@router.post("/update")
def update(body: UpdateExperiment, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.write(state, caller, experiments.rename, body.experiment_id, body.new_name)
    return {}


@router.post("/delete")
def delete(body: NamedExperiment, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.write(state, caller, experiments.delete, body.experiment_id)
    return {}


@router.post("/restore")
def restore(body: NamedExperiment, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.write(state, caller, experiments.restore, body.experiment_id)
    return {}


@router.post("/set-experiment-tag")
def set_tag(body: ExperimentTag, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.write(state, caller, experiments.set_tag, body)
    return {}


@router.post("/delete-experiment-tag")
def delete_tag(body: ExperimentTag, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.write(state, caller, experiments.delete_tag, body.experiment_id, body.key)
    return {}


def _page(rows: list[Any], token: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"experiments": [experiment_out(row) for row in rows]}
    return found if token is None else found | {"next_page_token": token}
