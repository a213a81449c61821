"""The model registry for MLflow's clients."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from danlu.errors import AlreadyExists, InvalidInput, NotFound
from danlu.server.mlflow import logged_models, runs
from danlu.server.mlflow.bodies import CreateModel, CreateVersion, NamedVersion, SetModelAlias, Tag
from danlu.server.mlflow.door import Caller, actor_of, reader_of
from danlu.server.mlflow.experiments import compares, milliseconds
from danlu.server.mlflow.files import FOLDER
from danlu.server.mlflow.tokens import offset_in, token_of
from danlu.server.models import service
from danlu.server.models.view import model_out, models_out, versions_out
from danlu.server.state import ServerState
from danlu.spec.models import check_model_name
from danlu.store.queries import buckets, models, people
from danlu.store.queries.mlflow.filter import Comparison, parse_filter
from danlu.store.sql.model_tables import ModelRow, ModelVersionRow
from danlu.wire.models import ChangeModel, ChangeModelVersion, ModelOut, ModelVersionOut, RegisterModel, SetAlias

MAX_MODELS = 10_000
MAX_VERSIONS = 50_000
"""Of all models of a project; a filter by name finds more of one."""

_SOURCE = re.compile(r"mlflow-artifacts:/+(?P<kind>runs|models)/(?P<owner>[^/]+)(?P<key>/.*)?")
_LOGGED = re.compile(r"models:/(?P<owner>m-[0-9a-f]{32})")
_RUN = re.compile(r"runs:/(?P<owner>run-[a-z2-7]{26})(?P<key>/.*)?")


def create(session: Session, state: ServerState, caller: Caller, body: CreateModel) -> dict[str, Any]:
    who, project_id = actor_of(caller), caller.project_id(session)
    try:
        check_model_name(body.name)
    except ValueError as error:
        raise InvalidInput(f"name: {error}") from error
    if models.find_model(session, project_id, body.name) is not None:
        raise AlreadyExists(f"Registered Model (name={body.name}) already exists.")
    row = service.create_model(session, state, who, project_id=project_id, name=body.name)
    service.change_model(session, state, who, row, ChangeModel(description=body.description, tags=_tags(body.tags)))
    return {"registered_model": _model_out(model_out(session, row))}


def get(session: Session, caller: Caller, name: str) -> dict[str, Any]:
    return {"registered_model": _model_out(model_out(session, find(session, caller, name)))}


def find(session: Session, caller: Caller, name: str) -> ModelRow:
    reader_of(caller)
    row = models.find_model(session, caller.project_id(session), name)
    if row is None:
        raise NotFound(f"Registered Model with name={name[:200]} not found")
    return row


def change(session: Session, state: ServerState, caller: Caller, name: str, body: ChangeModel) -> dict[str, Any]:
    row = find(session, caller, name)
    service.change_model(session, state, actor_of(caller), row, body)
    return {"registered_model": _model_out(model_out(session, row))}


def set_tag(session: Session, state: ServerState, caller: Caller, name: str, tag: Tag) -> dict[str, Any]:
    row = find(session, caller, name)
    return change(session, state, caller, name, ChangeModel(tags={**row.tags, tag.key: tag.value}))


def delete_tag(session: Session, state: ServerState, caller: Caller, name: str, key: str) -> dict[str, Any]:
    tags = {one: value for one, value in find(session, caller, name).tags.items() if one != key}
    return change(session, state, caller, name, ChangeModel(tags=tags))


class Asked(NamedTuple):
    """A search request: a filter and a page."""

    filter: str
    page_token: str
    max_results: int


def search(session: Session, caller: Caller, asked: Asked) -> dict[str, Any]:
    """Newest first."""
    reader_of(caller)
    tests, offset, limit = parse_filter(asked.filter), offset_in(asked.page_token), asked.max_results
    wanted = models.ModelFilter([caller.project_id(session)])
    rows = [
        row
        for row in models.list_models(session, wanted, before=None, limit=MAX_MODELS)
        if all(_passes({"name": row.name}, row.tags, test) for test in tests)
    ]
    page = rows[offset : offset + limit]
    answer: dict[str, Any] = {"registered_models": [_model_out(out) for out in models_out(session, page)]}
    return answer | ({"next_page_token": token_of(offset + limit)} if offset + limit < len(rows) else {})


def registration(session: Session, caller: Caller, body: CreateVersion) -> RegisterModel:
    """The registration for a new version."""
    find(session, caller, body.name)
    run_id = body.run_id or (logged_models.find(session, caller, body.model_id).run_id if body.model_id else None)
    return RegisterModel(
        name=body.name,
        project=people.projects_by_id(session)[caller.project_id(session)],
        path=_path(session, caller, body),
        run=run_id or None,
        description=body.description,
        tags=_tags(body.tags),
    )


def find_version(session: Session, caller: Caller, name: str, version: str) -> ModelVersionRow:
    row = find(session, caller, name)
    found = models.version_of(session, row.number, int(version)) if version.isdigit() and len(version) < 10 else None
    if found is None:
        raise NotFound(f"Model Version (name={name}, version={version[:20]}) not found")
    return found


def get_version(session: Session, caller: Caller, name: str, version: str) -> dict[str, Any]:
    return {"model_version": _one_version(session, find_version(session, caller, name, version))}


def get_by_alias(session: Session, caller: Caller, name: str, alias: str) -> dict[str, Any]:
    model = find(session, caller, name)
    found = models.get_alias(session, model.number, alias)
    if found is None:
        raise InvalidInput(f"Registered model alias {alias[:100]} not found.")
    return get_version(session, caller, name, str(found.version))


def set_alias(session: Session, state: ServerState, caller: Caller, body: SetModelAlias) -> dict[str, Any]:
    row = find_version(session, caller, body.name, body.version)
    model = find(session, caller, body.name)
    service.set_alias(session, state, actor_of(caller), model, body.alias, SetAlias(version=str(row.version)))
    return {}


def delete_alias(session: Session, state: ServerState, caller: Caller, name: str, alias: str) -> dict[str, Any]:
    service.delete_alias(session, state, actor_of(caller), find(session, caller, name), alias)
    return {}


def change_version(
    session: Session,
    state: ServerState,
    caller: Caller,
    named: NamedVersion,
    change_to: Callable[[ModelVersionRow], ChangeModelVersion],
) -> dict[str, Any]:
    row = find_version(session, caller, named.name, named.version)
    service.change_version(session, state, actor_of(caller), row, change_to(row))
    return {"model_version": _one_version(session, row)}


def latest(session: Session, caller: Caller, name: str) -> dict[str, Any]:
    model = find(session, caller, name)
    rows = list(models.latest_of(session, [model.number]).values())
    return {"model_versions": [_version_out(out) for out in versions_out(session, rows)]}


def search_versions(session: Session, caller: Caller, asked: Asked) -> dict[str, Any]:
    reader_of(caller)
    tests, offset, limit = parse_filter(asked.filter), offset_in(asked.page_token), asked.max_results
    names = [test.value for test in tests if test.key == "name" and test.sign == "="]
    project_id = caller.project_id(session)
    found = (
        [row for name in names[:1] if (row := models.find_model(session, project_id, str(name))) is not None]
        if names
        else models.list_models(session, models.ModelFilter([project_id]), before=None, limit=MAX_MODELS)
    )
    rows = models.versions_of(session, [model.number for model in found], limit=MAX_VERSIONS)
    shown = [(out, _version_out(out)) for out in versions_out(session, rows)]
    passing = [
        values
        for out, values in shown
        if all(_passes({**values, "version_number": out.version}, out.tags, test) for test in tests)
    ]
    page = passing[offset : offset + limit]
    answer: dict[str, Any] = {"model_versions": page}
    return answer | ({"next_page_token": token_of(offset + limit)} if offset + limit < len(passing) else {})


def version_out(out: ModelVersionOut) -> dict[str, Any]:
    return {"model_version": _version_out(out)}


def _path(session: Session, caller: Caller, body: CreateVersion) -> str:
    """The files of a version: a logged model's, a part of a run's, or a path in the store."""
    found = _SOURCE.fullmatch(body.source) or _LOGGED.fullmatch(body.source) or _RUN.fullmatch(body.source)
    if body.source.startswith("store://"):
        return body.source
    if found is None:
        raise InvalidInput(
            f"Invalid model version source {body.source[:200]!r}: expected an artifact URI of a run or a logged model "
            "of this server, or a path such as store://main/models/a/"
        )
    parts = found.groupdict()
    kind = parts.get("kind") or ("models" if _LOGGED.fullmatch(body.source) else "runs")
    if kind == "runs":
        runs.find(session, caller, found["owner"])
    else:
        logged_models.find(session, caller, found["owner"])
    bucket = buckets.first_bucket(session, caller.project_id(session))
    if bucket is None:
        raise NotFound(f"{found['owner']} has no files")
    return f"store://{bucket.name}/{FOLDER}/{kind}/{found['owner']}{(parts.get('key') or '').rstrip('/')}/"


def _passes(values: dict[str, Any], tags: dict[str, str], test: Comparison) -> bool:
    if test.kind == "tag":
        # clients exclude prompts with this tag, which only prompts have
        return compares(tags.get(test.key, "false" if test.key == "mlflow.prompt.is_prompt" else None), test)
    key = {"source_path": "source"}.get(test.key, test.key)
    if test.kind != "attribute" or key not in values:
        raise InvalidInput(f"Invalid attribute key '{test.key}' specified. Valid keys are {', '.join(values)}")
    return compares(values[key], test)


def _model_out(out: ModelOut) -> dict[str, Any]:
    newest = [] if out.latest is None else [out.latest]
    return {
        "name": out.name,
        "creation_timestamp": milliseconds(out.created_at),
        "last_updated_timestamp": milliseconds(max([out.created_at, *(one.created_at for one in newest)])),
        "description": out.description,
        "latest_versions": [_version_out(one) for one in newest],
        "tags": _tags_out(out.tags),
        "aliases": [{"alias": alias, "version": str(version)} for alias, version in out.aliases.items()],
    }


def _one_version(session: Session, row: ModelVersionRow) -> dict[str, Any]:
    return _version_out(versions_out(session, [row])[0])


def _version_out(out: ModelVersionOut) -> dict[str, Any]:
    return {
        "name": out.model,
        "version": str(out.version),
        "creation_timestamp": milliseconds(out.created_at),
        "last_updated_timestamp": milliseconds(out.created_at),
        "user_id": out.owner,
        "current_stage": "None",
        "description": out.description,
        "source": _source(out),
        "run_id": out.run or "",
        "status": "READY",
        "tags": _tags_out(out.tags),
        "aliases": out.aliases,
    }


def _source(out: ModelVersionOut) -> str:
    """The source as registered; files of this API are shown as artifact URIs."""
    own = re.fullmatch(rf"store://[^/]+/{FOLDER}/((?:runs|models)/.+?)/?", out.source)
    return f"mlflow-artifacts:/{own[1]}" if own is not None else out.source


def _tags(tags: Sequence[Tag]) -> dict[str, str]:
    return {tag.key: tag.value for tag in tags}


def _tags_out(tags: dict[str, Any]) -> list[dict[str, str]]:
    return [{"key": key, "value": str(value)} for key, value in sorted(tags.items())]
