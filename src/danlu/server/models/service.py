"""The rules of models and their versions. No HTTP; `register` and deleting files have their own transactions."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import Conflict, DanluError, NotAllowed, NotFound
from danlu.server.audit.service import record_action
from danlu.server.flow.recording import job_submitted, objects_deleted
from danlu.server.invalid import bad_field
from danlu.server.models import files as model_files
from danlu.server.models.sources import Source, find_source, measure
from danlu.server.scope import project_to_use, visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.flow import NodeRef, Relation, job_node
from danlu.spec.models import LATEST, check_alias, model_node, number_of
from danlu.spec.paths import StorePath, parse_store_path
from danlu.store.metrics.decode import clean
from danlu.store.queries import artifacts, flow, jobs, models, people
from danlu.store.sql.model_tables import ModelRow, ModelVersionRow
from danlu.wire.models import ChangeModel, ChangeModelVersion, DeletedModel, RegisterModel, SetAlias

FOLDER = "models"
MAX_VERSIONS = 100_000


def register(state: ServerState, who: UserIdentity, body: RegisterModel) -> str:
    """Register a version; return its id. The files are there before anybody can see it.

    A server that dies on the way leaves files of a copy that nobody refers to, and no version.
    """
    version_id = _version_id(who, body)
    with state.database.reading() as session:
        known = models.get_version(session, version_id)
        if known is not None:
            return known.id
        project_id = project_to_use(session, who, body.project)
        source = find_source(session, who, body)
        target = _target(session, who, body, project_id, version_id)
    files = model_files.look(state, source)
    is_copied = body.copy_files if body.copy_files is not None else source.manifest is None
    measured = measure(state, source)
    if is_copied:
        model_files.copy(state, files, target)
    path = target if is_copied else files.path
    now = state.now()
    row = ModelVersionRow(
        id=version_id,
        bucket=None if path is None else path.bucket,
        key="" if path is None else path.key,
        is_copied=is_copied,
        job_id=source.job_id,
        run_id=measured.run_id,
        artifact_id=source.artifact_id,
        source=source.text,
        size=files.size,
        num_files=files.num_files,
        format=body.format,
        framework=clean(body.framework),
        environment={
            **clean(body.environment.model_dump()),
            "image": clean(body.environment.image) if body.environment.image else source.image,
        },
        metrics=clean({**measured.metrics, **body.metrics}),
        hparams=clean(measured.hparams),
        tags=clean(body.tags),
        description=clean(body.description),
        owner_id=who.user_id,
        created_at=now,
    )
    with state.database.writing() as session:
        _add(session, state, who, body, project_id=project_id, source=source, row=row)
    return version_id


def find_model(session: Session, who: UserIdentity, name: str, project: str | None = None) -> ModelRow:
    """The model of that name or id. Without a project, of the one project of yours that has the name."""
    found = models.models_named(session, visible_project_ids(who), name)
    names = people.projects_by_id(session)
    if project is not None:
        found = [row for row in found if names[row.project_id] == project]
    if not found:
        where = "" if project is None else f" in project {project!r}"
        raise NotFound(f"no model {name[:100]!r}{where}; `danlu models list` shows yours")
    if len(found) > 1:
        told = ", ".join(f"{names[row.project_id]}/{row.name}" for row in found)
        raise Conflict(f"there are several models {name!r}: {told}; say which project")
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


def change_model(session: Session, state: ServerState, who: UserIdentity, row: ModelRow, body: ChangeModel) -> None:
    _check_use(who, row)
    row.description = row.description if body.description is None else clean(body.description)
    row.tags = row.tags if body.tags is None else clean(body.tags)
    _record(session, state, who, Action.MODEL_CHANGE, row)


def change_version(
    session: Session, state: ServerState, who: UserIdentity, row: ModelVersionRow, body: ChangeModelVersion
) -> None:
    model = _model(session, row)
    _check_use(who, model)
    for name, value in clean(body.model_dump(exclude_none=True)).items():
        setattr(row, name, value)
    _record(session, state, who, Action.MODEL_CHANGE, model, row)


def set_alias(
    session: Session, state: ServerState, who: UserIdentity, model: ModelRow, alias: str, body: SetAlias
) -> ModelVersionRow:
    """Point an alias at a version. At every moment it is at the old one or at the new one."""
    _check_use(who, model)
    try:
        check_alias(alias)
    except ValueError as error:
        raise bad_field("alias", str(error)) from error
    row = find_version(session, model, body.version)
    before = models.set_alias(session, model.number, alias, row.version)
    _record(session, state, who, Action.MODEL_ALIAS, model, row, alias=alias, before=before)
    return row


def delete_alias(session: Session, state: ServerState, who: UserIdentity, model: ModelRow, alias: str) -> None:
    _check_use(who, model)
    found = models.get_alias(session, model.number, alias)
    if found is None:
        raise NotFound(f"{model.name} has no alias {alias[:60]!r}")
    row = find_version(session, model, str(found.version))
    models.delete_alias(session, found)
    _record(session, state, who, Action.MODEL_ALIAS, model, row, removed=alias)


def delete_version(state: ServerState, who: UserIdentity, version_id: str, *, with_files: bool) -> DeletedModel:
    """Forget a version. Its files stay unless they are its own and are to go; its place in the data flow stays."""
    with state.database.writing() as session:
        row = get_version(session, who, version_id)
        model = _model(session, row)
        _check_delete(session, who, model, [row], with_files=with_files)
        paths = _forget(session, state, who, model, [row], with_files=with_files)
    return DeletedModel(num_versions=1, num_files=_delete_files(state, paths))


def delete_model(
    state: ServerState, who: UserIdentity, name: str, project: str | None, *, with_files: bool
) -> DeletedModel:
    """Forget a model with all its versions."""
    with state.database.writing() as session:
        model = find_model(session, who, name, project)
        rows = models.list_versions(session, model.number, before=None, limit=MAX_VERSIONS)
        _check_use(who, model)
        _check_delete(session, who, model, rows, with_files=with_files)
        paths = _forget(session, state, who, model, rows, with_files=with_files)
        _record(session, state, who, Action.MODEL_DELETE, model)
        models.delete_model(session, model)
    return DeletedModel(num_versions=len(rows), num_files=_delete_files(state, paths))


def _add(
    session: Session,
    state: ServerState,
    who: UserIdentity,
    body: RegisterModel,
    *,
    project_id: int,
    source: Source,
    row: ModelVersionRow,
) -> None:
    """The version becomes visible, with number, aliases and place in the data flow, all at once."""
    if models.get_version(session, row.id) is not None:
        return  # the same request came twice at a time
    if row.bucket is None and (row.artifact_id is None or artifacts.get_version(session, row.artifact_id) is None):
        raise Conflict(f"{body.artifact} was deleted a moment ago; nothing was registered")
    model = models.find_model(session, project_id, body.name)
    if model is None:
        model = ModelRow(
            id=f"m-{_word(secrets.token_bytes(10))}",
            project_id=project_id,
            name=body.name,
            description="",
            tags={},
            last_version=0,
            created_at=row.created_at,
        )
        models.add_model(session, model)
    row.model = model.number
    models.add_version(session, model, row)
    for alias in body.aliases:
        models.set_alias(session, model.number, alias, row.version)
    here = model_node(row.id)
    flow.node(session, here, project_id=project_id, label=f"{model.name}:{row.version}", at=row.created_at)
    _connect(session, source, here, row.created_at, project_id=project_id)
    _record(session, state, who, Action.MODEL_REGISTER, model, row, source=source.text)


def _connect(session: Session, source: Source, here: NodeRef, at: datetime, *, project_id: int) -> None:
    """The version comes from its source; the output of a job comes from that job."""
    if flow.find(session, source.node) is None:
        label = f"store://{source.node.key}" if source.path is not None else source.text
        of = project_id if source.project_id is None else source.project_id
        flow.node(session, source.node, project_id=of, label=label, at=at)
    flow.connect(session, source.node, here, Relation.REGISTERED, at)
    job = jobs.get_job(session, source.job_id) if source.job_id is not None and source.path is not None else None
    if job is not None:
        if flow.find(session, job_node(job.id)) is None:  # it is older than the data flow
            job_submitted(session, job, at)
        flow.connect(session, job_node(job.id), source.node, Relation.OUTPUT, at)


def _target(session: Session, who: UserIdentity, body: RegisterModel, project_id: int, version_id: str) -> StorePath:
    """Where a copy goes, if there is one."""
    if body.to is None:
        bucket = people.first_bucket(session, project_id)
        if bucket is None:
            if body.copy_files is False or (body.copy_files is None and body.artifact is not None):
                return StorePath("", "")
            raise bad_field("to", "the project has no bucket to copy the model to; make one with `danlu store mb`")
        return StorePath(bucket.name, f"{FOLDER}/{body.name}/{version_id}/")
    try:
        path = parse_store_path(f"{body.to.rstrip('/')}/")
    except ValueError as error:
        raise bad_field("to", str(error)) from error
    found = people.get_bucket(session, path.bucket)
    try:
        rights.check_write_object(who, path, None if found is None else found.project_id)
    except DanluError as error:
        raise type(error)(f"to: {error.message}", fields={"to": error.message}) from error
    return StorePath(path.bucket, f"{path.key}{version_id}/")


def _check_delete(
    session: Session, who: UserIdentity, model: ModelRow, rows: Sequence[ModelVersionRow], *, with_files: bool
) -> None:
    going = {row.number for row in rows}
    for row in rows:
        title = f"{model.name}:{row.version}"
        if not rights.can_change_job(who, project_id=model.project_id, owner_id=row.owner_id):
            raise NotAllowed(f"{title} is not yours to delete; ask its owner or an owner of its project")
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
) -> list[StorePath]:
    """Remove rows; return the folders whose files are to go."""
    paths = []
    for row in rows:
        _record(session, state, who, Action.MODEL_DELETE, model, row, files=with_files)
        flow.bury(session, model_node(row.id), state.now())
        if with_files and row.bucket is not None:
            paths.append(StorePath(row.bucket, row.key))
        models.delete_version(session, row)
    return paths


def _delete_files(state: ServerState, paths: Sequence[StorePath]) -> int:
    num_files = 0
    for path in paths:
        num_files += state.objects.delete_below(path)
        objects_deleted(state, path)
    return num_files


def _check_use(who: UserIdentity, row: ModelRow) -> None:
    if not rights.can_use_project(who, row.project_id):
        raise NotAllowed(f"you may look at {row.name!r} but not change it; ask an owner of its project")


def _model(session: Session, row: ModelVersionRow) -> ModelRow:
    found = models.get_model(session, row.model)
    assert found is not None  # a foreign key
    return found


def _version_id(who: UserIdentity, body: RegisterModel) -> str:
    """The same for a request that is sent again, and nobody else's."""
    if body.request_id is None:
        return f"mv-{_word(secrets.token_bytes(16))}"
    return f"mv-{_word(hashlib.sha256(f'{who.user_id} {body.request_id}'.encode()).digest()[:16])}"


def _word(data: bytes) -> str:
    return base64.b32encode(data).decode().rstrip("=").lower()


def _record(
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
