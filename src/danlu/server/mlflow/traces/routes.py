"""Traces as MLflow's clients ask for them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from danlu.errors import InvalidInput
from danlu.server.mlflow import operations as door
from danlu.server.mlflow.bodies import (
    DeleteTraces,
    EndTrace,
    LogTrace,
    SearchTraces,
    StartTrace,
    TraceKey,
    TracePair,
)
from danlu.server.mlflow.door import CurrentCaller
from danlu.server.mlflow.file_routes import file_response
from danlu.server.mlflow.traces import operations, service
from danlu.server.state import State

router = APIRouter(prefix="/mlflow")
whole_router = APIRouter(prefix="/mlflow")
"""What clients from 3.0 ask for. They use the paths above where this has none."""


@router.post("/traces")
def start(body: StartTrace, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return door.write(state, caller, service.start, body)


@router.get("/traces")
def search(body: Annotated[SearchTraces, Query()], caller: CurrentCaller, state: State) -> dict[str, Any]:
    return door.read(state, caller, service.search, body)


@router.post("/traces/delete-traces")
def delete(body: DeleteTraces, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return {"traces_deleted": operations.delete(state, caller, body)}


@router.patch("/traces/{request_id}")
def end(request_id: str, body: EndTrace, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return state.database.write(service.end, caller, request_id, body)


@router.get("/traces/{request_id}/info")
def get(request_id: str, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return door.read(state, caller, service.get, request_id)


@router.patch("/traces/{request_id}/tags")
def set_tag(request_id: str, body: TracePair, caller: CurrentCaller, state: State) -> dict[str, Any]:
    state.database.write(service.set_tag, caller, request_id, body)
    return {}


@router.delete("/traces/{request_id}/tags")
def delete_tag(request_id: str, body: TraceKey, caller: CurrentCaller, state: State) -> dict[str, Any]:
    state.database.write(service.delete_tag, caller, request_id, body.key)
    return {}


@router.get("/get-trace-artifact")
def get_spans(caller: CurrentCaller, state: State, request_id: Annotated[str, Query(max_length=100)] = "") -> Response:
    if not request_id:
        raise InvalidInput('Request must include the "request_id" query parameter.')
    found = door.open_file(state, caller, f"traces/{request_id}/{operations.FILE}")
    return file_response(found, operations.FILE)


@whole_router.post("/traces")
def log(body: LogTrace, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.log(state, caller, body)


@whole_router.get("/traces/{trace_id}")
def get_whole(trace_id: str, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return door.read(state, caller, service.get_whole, trace_id)
