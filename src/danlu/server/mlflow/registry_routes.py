"""The model registry as MLflow's clients ask for it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from danlu.errors import Unsupported
from danlu.server.mlflow import operations, registry
from danlu.server.mlflow.bodies import (
    CreateModel,
    CreateVersion,
    DescribeModel,
    DescribeVersion,
    ModelAlias,
    ModelKey,
    NamedModel,
    NamedVersion,
    SetModelAlias,
    TagModel,
    TagVersion,
    VersionKey,
)
from danlu.server.mlflow.door import CurrentCaller
from danlu.server.state import State
from danlu.wire.models import ChangeModel, ChangeModelVersion

router = APIRouter(prefix="/mlflow")
Name = Annotated[str, Query(max_length=256)]
Filter = Annotated[str, Query(max_length=6000)]
PageToken = Annotated[str, Query(max_length=200)]
MaxResults = Annotated[int, Query(ge=1, le=10_000)]


@router.post("/registered-models/create")
def create(body: CreateModel, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.write(state, caller, registry.create, body)


@router.get("/registered-models/get")
def get(name: Name, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.read(state, caller, registry.get, name)


@router.post("/registered-models/rename")
def rename(_body: NamedModel, _caller: CurrentCaller) -> dict[str, Any]:
    raise Unsupported("a model keeps its name in Danlu; register its versions under another one")


@router.patch("/registered-models/update")
def describe(body: DescribeModel, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.write(state, caller, registry.change, body.name, ChangeModel(description=body.description))


@router.delete("/registered-models/delete")
def delete(body: NamedModel, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.delete_model(state, caller, body.name)
    return {}


@router.get("/registered-models/search")
def search(
    caller: CurrentCaller,
    state: State,
    filter: Filter = "",
    page_token: PageToken = "",
    max_results: MaxResults = 100,
) -> dict[str, Any]:
    return operations.read(state, caller, registry.search, registry.Asked(filter, page_token, max_results))


@router.post("/registered-models/get-latest-versions")
def latest(body: NamedModel, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.read(state, caller, registry.latest, body.name)


@router.get("/registered-models/get-latest-versions")
def latest_by_query(name: Name, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.read(state, caller, registry.latest, name)


@router.post("/registered-models/set-tag")
def set_tag(body: TagModel, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.write(state, caller, registry.set_tag, body.name, body)
    return {}


@router.delete("/registered-models/delete-tag")
def delete_tag(body: ModelKey, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.write(state, caller, registry.delete_tag, body.name, body.key)
    return {}


@router.post("/registered-models/alias")
def set_alias(body: SetModelAlias, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.write(state, caller, registry.set_alias, body)


@router.delete("/registered-models/alias")
def delete_alias(body: ModelAlias, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.write(state, caller, registry.delete_alias, body.name, body.alias)


@router.get("/registered-models/alias")
def get_by_alias(
    name: Name, alias: Annotated[str, Query(max_length=255)], caller: CurrentCaller, state: State
) -> dict[str, Any]:
    return operations.read(state, caller, registry.get_by_alias, name, alias)


@router.post("/model-versions/create")
def create_version(body: CreateVersion, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.register(state, caller, body)


@router.get("/model-versions/get")
def get_version(
    name: Name, version: Annotated[str, Query(max_length=20)], caller: CurrentCaller, state: State
) -> dict[str, Any]:
    return operations.read(state, caller, registry.get_version, name, version)


@router.get("/model-versions/get-download-uri")
def download_uri(
    name: Name, version: Annotated[str, Query(max_length=20)], caller: CurrentCaller, state: State
) -> dict[str, Any]:
    row = operations.read(state, caller, registry.find_version, name, version)
    return {"artifact_uri": f"mlflow-artifacts:/versions/{row.id}"}


@router.patch("/model-versions/update")
def describe_version(body: DescribeVersion, caller: CurrentCaller, state: State) -> dict[str, Any]:
    return operations.write(
        state,
        caller,
        registry.change_version,
        body,
        lambda _row: ChangeModelVersion(description=body.description),
    )


@router.post("/model-versions/transition-stage")
def transition(_body: NamedVersion, _caller: CurrentCaller) -> dict[str, Any]:
    raise Unsupported("Danlu has no stages, which MLflow has given up as well; use aliases")


@router.delete("/model-versions/delete")
def delete_version(body: NamedVersion, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.delete_version(state, caller, body.name, body.version)
    return {}


@router.get("/model-versions/search")
def search_versions(
    caller: CurrentCaller,
    state: State,
    filter: Filter = "",
    page_token: PageToken = "",
    max_results: MaxResults = 1000,
) -> dict[str, Any]:
    return operations.read(state, caller, registry.search_versions, registry.Asked(filter, page_token, max_results))


@router.post("/model-versions/set-tag")
def set_version_tag(body: TagVersion, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.write(
        state,
        caller,
        registry.change_version,
        body,
        lambda row: ChangeModelVersion(tags={**row.tags, body.key: body.value}),
    )
    return {}


@router.delete("/model-versions/delete-tag")
def delete_version_tag(body: VersionKey, caller: CurrentCaller, state: State) -> dict[str, Any]:
    operations.write(
        state,
        caller,
        registry.change_version,
        body,
        lambda row: ChangeModelVersion(tags={key: value for key, value in row.tags.items() if key != body.key}),
    )
    return {}
