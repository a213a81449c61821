"""Models over HTTP: register, list, compare, alias, change, delete."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Query
from fastapi.responses import Response

from danlu.server.identity import CurrentActor, CurrentIdentity, CurrentReader
from danlu.server.invalid import bad_field
from danlu.server.models import operations, service
from danlu.server.models.view import compare as side_by_side
from danlu.server.models.view import model_out, version_out, versions_out
from danlu.server.paging import Cursor, Limit, number_in
from danlu.server.state import State
from danlu.wire.base import Page
from danlu.wire.models import (
    MAX_COMPARED,
    ChangeModel,
    ChangeModelVersion,
    DeletedModel,
    ModelComparison,
    ModelOut,
    ModelVersionOut,
    RegisterModel,
    SetAlias,
)

router = APIRouter(tags=["models"])
Project = Annotated[Optional[str], Query(max_length=100)]


@router.post("/models", status_code=201)
def register(body: RegisterModel, who: CurrentIdentity, state: State) -> ModelVersionOut:
    """Register a new version, and the model with its first one. The server gives the number."""
    return operations.register(state, who, body)


@router.get("/models")
def list_models(
    who: CurrentReader,
    state: State,
    cursor: Cursor = None,
    limit: Limit = 100,
    project: Project = None,
    name: Annotated[str, Query(max_length=100)] = "",
    tag: Annotated[Optional[list[str]], Query(max_length=10)] = None,
) -> Page[ModelOut]:
    """Newest first. `name` is a part of the name; `tag` is written key=value."""
    wanted = service.Wanted(project=project, name=name, tags=[_tag(text) for text in tag or ()])
    return state.database.read(service.list_models, who, wanted, before=number_in(cursor), limit=limit)


@router.get("/models/{model}")
def get_model(model: str, who: CurrentReader, state: State, project: Project = None) -> ModelOut:
    """A model with its aliases and newest version."""
    with state.database.reading() as session:
        return model_out(session, service.find_model(session, who, model, project))


@router.patch("/models/{model}")
def change_model(model: str, body: ChangeModel, who: CurrentActor, state: State, project: Project = None) -> ModelOut:
    """Describe or tag a model."""
    with state.database.writing() as session:
        row = service.find_model(session, who, model, project)
        service.change_model(session, state, who, row, body)
        return model_out(session, row)


@router.delete("/models/{model}")
def delete_model(
    model: str, who: CurrentActor, state: State, project: Project = None, files: bool = False
) -> DeletedModel:
    """Delete a model with its versions. Files stay; with `files`, the versions' own copies are deleted too."""
    return operations.delete_model(state, who, model, project, with_files=files)


@router.get("/models/{model}/versions")
def list_versions(
    model: str, who: CurrentReader, state: State, project: Project = None, cursor: Cursor = None, limit: Limit = 100
) -> Page[ModelVersionOut]:
    """Newest first."""
    with state.database.reading() as session:
        row = service.find_model(session, who, model, project)
        return service.list_versions(session, row, before=number_in(cursor), limit=limit)


@router.get("/models/{model}/compare")
def compare(
    model: str,
    who: CurrentReader,
    state: State,
    version: Annotated[list[str], Query(min_length=1, max_length=MAX_COMPARED)],
    project: Project = None,
) -> ModelComparison:
    """Versions side by side: numbers, aliases or `latest`."""
    with state.database.reading() as session:
        row = service.find_model(session, who, model, project)
        found = [service.find_version(session, row, which) for which in version]
        return side_by_side(versions_out(session, found))


@router.get("/models/{model}/versions/{which}")
def get_version(model: str, which: str, who: CurrentReader, state: State, project: Project = None) -> ModelVersionOut:
    """A number, an alias, or `latest`."""
    with state.database.reading() as session:
        row = service.find_model(session, who, model, project)
        return version_out(session, service.find_version(session, row, which))


@router.patch("/models/{model}/versions/{which}")
def change_version(
    model: str, which: str, body: ChangeModelVersion, who: CurrentActor, state: State, project: Project = None
) -> ModelVersionOut:
    """Describe, tag, or say what it takes to run it. Files and metrics stay what they were."""
    with state.database.writing() as session:
        row = service.find_version(session, service.find_model(session, who, model, project), which)
        service.change_version(session, state, who, row, body)
        return version_out(session, row)


@router.delete("/models/{model}/versions/{which}")
def delete_version(
    model: str, which: str, who: CurrentActor, state: State, project: Project = None, files: bool = False
) -> DeletedModel:
    """Delete a version. Its files stay; with `files`, its own copies are deleted too."""
    return operations.delete_version(state, who, model, which, project, with_files=files)


@router.put("/models/{model}/aliases/{alias}")
def set_alias(
    model: str, alias: str, body: SetAlias, who: CurrentActor, state: State, project: Project = None
) -> ModelVersionOut:
    """Point an alias at a version; it leaves the one that had it in the same moment."""
    with state.database.writing() as session:
        row = service.find_model(session, who, model, project)
        return version_out(session, service.set_alias(session, state, who, row, alias, body))


@router.delete("/models/{model}/aliases/{alias}", status_code=204)
def delete_alias(model: str, alias: str, who: CurrentActor, state: State, project: Project = None) -> Response:
    """Remove an alias; its version stays."""
    with state.database.writing() as session:
        service.delete_alias(session, state, who, service.find_model(session, who, model, project), alias)
    return Response(status_code=204)


@router.get("/model-versions/{version_id}")
def get_version_by_id(version_id: str, who: CurrentReader, state: State) -> ModelVersionOut:
    """A model version by its id."""
    with state.database.reading() as session:
        return version_out(session, service.get_version(session, who, version_id))


def _tag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise bad_field("tag", f"expected key=value, got {text[:100]!r}")
    return key, value
