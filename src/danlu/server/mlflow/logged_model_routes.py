"""Logged models as MLflow's clients ask for them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from danlu.server.mlflow import logged_models, operations
from danlu.server.mlflow.bodies import (
    CreateLoggedModel,
    FinalizeLoggedModel,
    ParamsOfLoggedModel,
    SearchLoggedModels,
    TagLoggedModel,
)
from danlu.server.mlflow.door import CurrentCaller
from danlu.server.state import State

router = APIRouter(prefix="/mlflow/logged-models")


@router.post("")
def create(body: CreateLoggedModel, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.write(state, caller, logged_models.create, body)


@router.post("/search")
def search(body: SearchLoggedModels, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.read(state, caller, logged_models.search, body)


@router.get("/{model_id}")
def get(model_id: str, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.read(state, caller, logged_models.get, model_id)


@router.patch("/{model_id}")
def finalize(model_id: str, body: FinalizeLoggedModel, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.write(state, caller, logged_models.finalize, model_id, body.status)


@router.delete("/{model_id}")
def delete(model_id: str, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.write(state, caller, logged_models.delete, model_id)


@router.patch("/{model_id}/tags")
def set_tags(model_id: str, body: TagLoggedModel, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.write(state, caller, logged_models.set_tags, model_id, body.tags)


@router.delete("/{model_id}/tags/{key}")
def delete_tag(model_id: str, key: str, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.write(state, caller, logged_models.delete_tag, model_id, key)


@router.post("/{model_id}/params")
def add_params(model_id: str, body: ParamsOfLoggedModel, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.write(state, caller, logged_models.add_params, model_id, body.params)
