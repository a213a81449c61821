"""The rules of models and their versions. No HTTP, no SQL, no commit: the caller owns the transaction."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import Conflict, NotAllowed, NotFound
from danlu.server.audit.service import record_action
from danlu.server.invalid import bad_field
from danlu.server.models.view import models_out, versions_out
from danlu.server.objects.located import Located, writable
from danlu.server.paging import cut
from danlu.server.scope import visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.models import LATEST, check_alias, model_node, number_of
from danlu.spec.paths import StorePath
from danlu.store.metrics.decode import clean
from danlu.store.queries import flow, models, people, projects
from danlu.store.sql.model_tables import ModelRow, ModelVersionRow
from danlu.wire.base import Page
from danlu.wire.models import ChangeModel, ChangeModelVersion, ModelOut, ModelVersionOut, SetAlias

MAX_VERSIONS = 100_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which models to list."""

    project: str | None = None
    name: str = ""
    """Part of the name."""

    tags: Sequence[tuple[str, str]] = ()


def list_models(
    session: Session, who: UserIdentity, wanted: Wanted, *, before: int | None, limit: int
) -> Page[ModelOut]:
    """Newest first. Empty for a project that the user does not see."""
    project_ids = visible_project_ids(who)
    if wanted.project is not None:
        found = projects.project_by_name(session, wanted.project)
        is_seen = found is not None and rights.can_see_project(who, found.id)
        project_ids = [found.id] if found is not None and is_seen else []
    among = models.ModelFilter(project_ids, wanted.name, wanted.tags)
    listed = models.list_models(session, among, before=before, limit=limit + 1)
    rows, after = cut(listed, limit, lambda row: str(row.number))
    return Page(items=models_out(session, rows), next=after)


def list_versions(session: Session, model: ModelRow, *, before: int | None, limit: int) -> Page[ModelVersionOut]:
    """Newest first."""
    found = models.list_versions(session, model.number, before=before, limit=limit + 1)
    rows, after = cut(found, limit, lambda row: str(row.version))
    return Page(items=versions_out(session, rows), next=after)


def find_model(session: Session, who: UserIdentity, name: str, project: str | None = None) -> ModelRow:
    """The model with this name or id. Without a project, exactly one visible project must have it."""
    found = models.models_named(session, visible_project_ids(who), name)
    names = people.projects_by_id(session)
    if project is not None:
        found = [row for row in found if names[row.project_id] == project]
    if not found:
        where = "" if project is None else f" in project {project!r}"
        raise NotFound(f"no model {name[:100]!r}{where}; `danlu models list` shows yours")
    if len(found) > 1:
        told = ", ".join(f"{names[row.project_id]}/{row.name}" for row in found)
        raise Conflict(f"there are several models {name!r}: {told}; name the project")
    return found[0]


def find_version(session: Session, model: ModelRow, which: str) -> ModelVersionRow:
    """Number, alias or `latest`."""
    number = number_of(which)
    if number is None and which != LATEST:
        alias = models.get_alias(session, model.number, which)
        number = -1 if alias is None else alias.version
    row = (
        models.latest_of(session, [model.number]).get(model.number)
        if number is None
        else models.version_of(session, model.number, number)
    )
    if row is None:
        raise NotFound(f"no version {model.name}:{which[:60]}; `danlu models versions {model.name}` lists them")
    return row


def get_version(session: Session, who: UserIdentity, version_id: str) -> ModelVersionRow:
    row = models.get_version(session, version_id)
    if row is None or not rights.can_see_project(who, _model(session, row).project_id):
        raise NotFound(f"no model version {version_id[:60]!r}; `danlu models list` shows yours")
    return row


def create_model(session: Session, state: ServerState, who: UserIdentity, *, project_id: int, name: str) -> ModelRow:
    """A model without versions."""
    row = ModelRow(id=new_model_id(), project_id=project_id, name=name, description="", tags={}, created_at=state.now())
    _check_use(who, row)
    models.add_model(session, row)
    return row


def new_model_id() -> str:
    return f"m-{base64.b32encode(secrets.token_bytes(10)).decode().rstrip('=').lower()}"


def change_model(session: Session, state: ServerState, who: UserIdentity, row: ModelRow, body: ChangeModel) -> None:
    _check_use(who, row)
    row.description = row.description if body.description is None else clean(body.description)
    row.tags = row.tags if body.tags is None else clean(body.tags)
    record(session, state, who, Action.MODEL_CHANGE, row)


def change_version(
    session: Session, state: ServerState, who: UserIdentity, row: ModelVersionRow, body: ChangeModelVersion
) -> None:
    model = _model(session, row)
    _check_use(who, model)
    for name, value in clean(body.model_dump(exclude_none=True)).items():
        setattr(row, name, value)
    record(session, state, who, Action.MODEL_CHANGE, model, row)


def set_alias(
    session: Session, state: ServerState, who: UserIdentity, model: ModelRow, alias: str, body: SetAlias
) -> ModelVersionRow:
    """Point an alias at a version, atomically."""
    _check_use(who, model)
    try:
        check_alias(alias)
    except ValueError as error:
        raise bad_field("alias", str(error)) from error
    row = find_version(session, model, body.version)
    before = models.set_alias(session, model.number, alias, row.version)
    record(session, state, who, Action.MODEL_ALIAS, model, row, alias=alias, before=before)
    return row


def delete_alias(session: Session, state: ServerState, who: UserIdentity, model: ModelRow, alias: str) -> None:
    _check_use(who, model)
    found = models.get_alias(session, model.number, alias)
    if found is None:
        raise NotFound(f"{model.name} has no alias {alias[:60]!r}")
    row = find_version(session, model, str(found.version))
    models.delete_alias(session, found)
    record(session, state, who, Action.MODEL_ALIAS, model, row, removed=alias)


def delete_version(
    session: Session, state: ServerState, who: UserIdentity, row: ModelVersionRow, *, with_files: bool
) -> list[Located]:
    """Delete a version; return the folders to delete files from."""
    model = _model(session, row)
    _check_delete(session, who, model, [row], with_files=with_files)
    return _forget(session, state, who, model, [row], with_files=with_files)


def delete_model(
    session: Session, state: ServerState, who: UserIdentity, model: ModelRow, *, with_files: bool
) -> tuple[int, list[Located]]:
    """Delete a model; return how many versions it had, and the folders to delete files from."""
    rows = models.list_versions(session, model.number, before=None, limit=MAX_VERSIONS)
    _check_use(who, model)
    _check_delete(session, who, model, rows, with_files=with_files)
    places = _forget(session, state, who, model, rows, with_files=with_files)
    record(session, state, who, Action.MODEL_DELETE, model)
    models.delete_model(session, model)
    return len(rows), places


def _check_delete(
    session: Session, who: UserIdentity, model: ModelRow, rows: Sequence[ModelVersionRow], *, with_files: bool
) -> None:
    going = {row.number for row in rows}
    for row in rows:
        title = f"{model.name}:{row.version}"
        if not rights.can_change_job(who, project_id=model.project_id, owner_id=row.owner_id):
            raise NotAllowed(f"you may not delete {title}; ask its owner or an owner of its project")
        if not with_files:
            continue
        if not row.is_copied:
            where = "an artifact" if row.bucket is None else str(StorePath(row.bucket, row.key))
            raise Conflict(f"{title} has no files of its own: they are those of {where}; delete it without files")
        others = [other for other in models.others_at(session, row) if other.number not in going]
        if others:
            other = f"{_model(session, others[0]).name}:{others[0].version}"
            raise Conflict(f"the files of {title} are those of {other} as well; delete {other} first, or keep files")


def _forget(
    session: Session,
    state: ServerState,
    who: UserIdentity,
    model: ModelRow,
    rows: Sequence[ModelVersionRow],
    *,
    with_files: bool,
) -> list[Located]:
    """Delete rows; return the folders to delete files from."""
    places = []
    for row in rows:
        record(session, state, who, Action.MODEL_DELETE, model, row, files=with_files)
        flow.bury(session, model_node(row.id), state.now())
        if with_files:
            places.append(_own_files(session, who, model, row))
        models.delete_version(session, row)
    return places


def _own_files(session: Session, who: UserIdentity, model: ModelRow, row: ModelVersionRow) -> Located:
    """The location of a version's own files, if the user may delete them and their bucket was not replaced."""
    where = writable(session, who, row.bucket or "", row.key, is_prefix=True)
    if where.bucket.id != row.bucket_id:
        told = f"bucket {row.bucket!r} was deleted and created again since"
        raise Conflict(f"{model.name}:{row.version} has no files any more: {told}; delete it without files")
    return where


def _check_use(who: UserIdentity, row: ModelRow) -> None:
    if not rights.can_use_project(who, row.project_id):
        raise NotAllowed(f"you may view {row.name!r} but not change it; ask an owner of its project")


def _model(session: Session, row: ModelVersionRow) -> ModelRow:
    found = models.get_model(session, row.model)
    assert found is not None  # a foreign key
    return found


def record(
    session: Session,
    state: ServerState,
    who: UserIdentity,
    action: Action,
    model: ModelRow,
    row: ModelVersionRow | None = None,
    **details: str | int | bool | None,
) -> None:
    thing = f"model/{model.name}" if row is None else f"model/{model.name}:{row.version}"
    record_action(session, who, action, thing, at=state.now(), project_id=model.project_id, **details)
