"""What the pages of MLflow ask for, and scripts that speak to them: files by run, data sets, histories of many runs."""

from __future__ import annotations

from typing import Annotated, Any, Optional

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from danlu.errors import InvalidInput, NotFound
from danlu.server.bodies.receiving import receive
from danlu.server.mlflow import datasets, files, histories, operations
from danlu.server.mlflow.bodies import AskGateway, LogInputs, LogPrompt, NamedRun, SearchDatasets
from danlu.server.mlflow.door import CurrentCaller
from danlu.server.mlflow.file_routes import Path, file_response
from danlu.server.state import State

router = APIRouter(prefix="/mlflow")
root_router = APIRouter()
Ids = Annotated[list[str], Query(max_length=10_000)]
MetricKey = Annotated[str, Query(max_length=500)]
Step = Annotated[Optional[int], Query(ge=-(2**62), le=2**62)]


@router.post("/runs/log-inputs")
def log_inputs(body: LogInputs, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.write(state, caller, datasets.log, body)
    return {}


@router.post("/runs/create-promptlab-run")
def log_prompt(body: LogPrompt, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return {"run": operations.log_prompt(state, caller, body)}


@router.post("/gateway-proxy")
def ask_gateway(body: AskGateway, _caller: CurrentCaller) -> dict[str, Any]:
    return _gateway(body.gateway_path)


@router.get("/gateway-proxy")
def ask_gateway_by_query(body: Annotated[AskGateway, Query()], _caller: CurrentCaller) -> dict[str, Any]:
    return _gateway(body.gateway_path)


def _gateway(path: str) -> dict[str, Any]:
    """There is no AI gateway: as on MLflow's own server without one, its list of endpoints is empty."""
    if not path:
        raise InvalidInput("Deployments proxy request must specify a gateway_path.")
    if path.strip("/") != "api/2.0/endpoints":
        raise NotFound("Danlu has no AI gateway")
    return {"endpoints": []}


@router.post("/experiments/search-datasets")
def search_datasets(body: SearchDatasets, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return {"dataset_summaries": operations.read(state, caller, datasets.search, body)}


@router.get("/metrics/get-history-bulk")
def bulk(
    caller: CurrentCaller,
    state: State,
    run_id: Ids = [],  # noqa: B006
    metric_key: MetricKey = "",
    max_results: Annotated[int, Query(ge=1)] = histories.MAX_POINTS,
) -> dict[str, Any]:
    return {"metrics": histories.of_runs(state, caller, run_id, metric_key, limit=max_results)}


@router.get("/metrics/get-history-bulk-interval")
def interval(
    caller: CurrentCaller,
    state: State,
    run_ids: Ids = [],  # noqa: B006
    metric_key: MetricKey = "",
    start_step: Step = None,
    end_step: Step = None,
    max_results: int = histories.MAX_THINNED,
) -> dict[str, Any]:
    histories.check_thinned(run_ids, metric_key, start=start_step, end=end_step, limit=max_results)
    between = None if start_step is None or end_step is None else (start_step, end_step)
    return {"metrics": histories.thinned(state, caller, run_ids, metric_key, between=between, limit=max_results)}


@router.post("/upload-artifact")
async def upload(
    request: Request,
    caller: CurrentCaller,
    state: State,
    run_uuid: Annotated[str, Query(max_length=100)] = "",
    path: Path = "",
) -> dict[str, Any]:
    if not run_uuid:
        raise InvalidInput("Request must specify run_uuid.")
    if not path:
        raise InvalidInput("Request must specify path.")
    files.check_path(path)
    if request.headers.get("content-length", "0") == "0":
        raise InvalidInput("Request must specify data.")
    incoming = await run_in_threadpool(operations.begin_put, state, caller, f"runs/{run_uuid}/{path}")
    await receive(request, incoming.writer, None)
    await run_in_threadpool(operations.end_put, state, caller, incoming)
    return {}


@root_router.get("/get-artifact")
def get_artifact(named: Annotated[NamedRun, Query()], caller: CurrentCaller, state: State, path: Path = "") -> Response:
    files.check_path(path)
    return file_response(operations.open_file(state, caller, f"runs/{named.run}/{path}"))


@root_router.get("//model-versions/get-artifact")  # MLflow's own server takes two slashes for one
@root_router.get("/model-versions/get-artifact")
def get_artifact_of_version(
    caller: CurrentCaller,
    state: State,
    name: Annotated[str, Query(max_length=256)],
    version: Annotated[str, Query(max_length=20)],
    path: Path = "",
) -> Response:
    files.check_path(path)
    return file_response(operations.open_file_of_version(state, caller, name, version=version, path=path))
