"""Files of runs and models as MLflow's clients send and fetch them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse

from danlu.server.bodies.receiving import receive
from danlu.server.mlflow import files, operations
from danlu.server.mlflow.bodies import NamedRun
from danlu.server.mlflow.door import CurrentCaller
from danlu.server.mlflow.logged_models import artifact_uri as uri_of_model
from danlu.server.mlflow.run_view import artifact_uri
from danlu.server.state import State
from danlu.store.objects.base import OpenObject

router = APIRouter()
Path = Annotated[str, Query(max_length=1000)]


@router.get("/mlflow-artifacts/artifacts")
def list_files(caller: CurrentCaller, state: State, path: Path = "") -> dict[str, Any]:
    return {"files": operations.list_files(state, caller, path)}


@router.put("/mlflow-artifacts/artifacts/{path:path}")
async def put(path: str, request: Request, caller: CurrentCaller, state: State) -> dict[str, Any]:
    incoming = await run_in_threadpool(operations.begin_put, state, caller, path)
    await receive(request, incoming.writer, None)
    await run_in_threadpool(operations.end_put, state, caller, incoming)
    return {}


@router.get("/mlflow-artifacts/artifacts/{path:path}")
def get(path: str, caller: CurrentCaller, state: State) -> Response:
    return file_response(operations.open_file(state, caller, path))


def file_response(found: OpenObject, name: str = "") -> Response:
    headers = {
        "Content-Length": str(found.info.size),
        # user content must not run in the console's origin
        "Content-Security-Policy": "sandbox",
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": f"attachment; filename={name}" if name else "attachment",
    }
    return StreamingResponse(found.pieces(), media_type="application/octet-stream", headers=headers)


@router.delete("/mlflow-artifacts/artifacts/{path:path}")
def delete(path: str, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.delete_files(state, caller, path)
    return {}


@router.get("/mlflow/artifacts/list")
def list_of_run(
    named: Annotated[NamedRun, Query()], caller: CurrentCaller, state: State, path: Path = ""
) -> dict[str, Any]:
    if path:
        files.check_path(path)
    return _listing(
        operations.list_files(state, caller, _joined(f"runs/{named.run}", path)), artifact_uri(named.run), path
    )


@router.get("/mlflow/logged-models/{model_id}/artifacts/directories")
def list_of_model(
    model_id: str, caller: CurrentCaller, state: State, artifact_directory_path: Path = ""
) -> dict[str, Any]:
    path = artifact_directory_path
    return _listing(
        operations.list_files(state, caller, _joined(f"models/{model_id}", path)), uri_of_model(model_id), path
    )


def _joined(root: str, path: str) -> str:
    return f"{root}/{path}" if path else root


def _listing(found: list[dict[str, Any]], root: str, path: str) -> dict[str, Any]:
    return {
        "root_uri": root,
        "files": [{**one, "path": _joined(path, one["path"]) if path else one["path"]} for one in found],
    }
