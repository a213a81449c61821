"""The rules of registering a version of a model."""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import Conflict, DanluError, NotAllowed
from danlu.server.flow.recording import job_submitted
from danlu.server.identity import identity_now
from danlu.server.invalid import bad_field
from danlu.server.models.files import Files
from danlu.server.models.service import create_model, record
from danlu.server.models.sources import Measured, Source, find_source
from danlu.server.objects.located import Located, below, bucket_named, locate, writable
from danlu.server.scope import project_to_use
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.flow import NodeRef, Relation, job_node
from danlu.spec.models import model_node
from danlu.spec.paths import StorePath, parse_store_path
from danlu.store.metrics.decode import clean
from danlu.store.queries import artifacts, buckets, flow, jobs, models
from danlu.store.sql.model_tables import ModelVersionRow
from danlu.wire.models import RegisterModel

FOLDER = "models"


@dataclass(frozen=True)
class Prepared:
    """A version that may be registered."""

    version_id: str
    project_id: int
    source: Source
    target: Located | None
    """Where the files are copied to; None when they stay where they are."""


@dataclass(frozen=True)
class Made:
    """The files and metrics to register."""

    files: Files
    measured: Measured
    where: Located | None
    """Where the version's files are; None when they are those of an artifact."""


def prepare(session: Session, who: UserIdentity, body: RegisterModel, version_id: str) -> Prepared | None:
    """Reject what cannot be registered, before anything is copied; None when this request was done before."""
    if models.get_version(session, version_id) is not None:
        return None
    project_id = project_to_use(session, who, body.project)
    source = find_source(session, who, body)
    target = _target(session, who, body, project_id, version_id)
    is_copied = body.copy_files if body.copy_files is not None else source.manifest is None
    return Prepared(version_id, project_id, source, target if is_copied else None)


def new_version(
    state: ServerState, who: UserIdentity, body: RegisterModel, found: Prepared, made: Made
) -> ModelVersionRow:
    """The row of a version, without its model and number."""
    return ModelVersionRow(
        id=found.version_id,
        bucket=None if made.where is None else made.where.path.bucket,
        bucket_id="" if made.where is None else made.where.bucket.id,
        key="" if made.where is None else made.where.path.key,
        is_copied=found.target is not None,
        job_id=found.source.job_id,
        run_id=made.measured.run_id,
        artifact_id=found.source.artifact_id,
        source=found.source.text,
        size=made.files.size,
        num_files=made.files.num_files,
        format=body.format,
        framework=clean(body.framework),
        environment={
            **clean(body.environment.model_dump()),
            "image": clean(body.environment.image) if body.environment.image else found.source.image,
        },
        metrics=clean({**made.measured.metrics, **body.metrics}),
        hparams=clean(made.measured.hparams),
        tags=clean(body.tags),
        description=clean(body.description),
        owner_id=who.user_id,
        created_at=state.now(),
    )


def version_id_for(who: UserIdentity, body: RegisterModel) -> str:
    """The id of a new version: the same for a repeated request of the same user."""
    if body.request_id is None:
        return f"mv-{_word(secrets.token_bytes(16))}"
    return f"mv-{_word(hashlib.sha256(f'{who.user_id} {body.request_id}'.encode()).digest()[:16])}"


def add(
    session: Session, state: ServerState, who: UserIdentity, body: RegisterModel, found: Prepared, row: ModelVersionRow
) -> None:
    """Make the version visible, with number, aliases and data flow, in one transaction."""
    if models.get_version(session, row.id) is not None:
        return  # the same request was sent twice at the same time
    who = identity_now(session, state, who)  # a large copy takes a while
    if not rights.can_use_project(who, found.project_id):
        raise NotAllowed("you may not add to this project any more; nothing was registered")
    _check_bucket(session, row)
    project_id, source = found.project_id, found.source
    if row.bucket is None and (row.artifact_id is None or artifacts.get_version(session, row.artifact_id) is None):
        raise Conflict(f"{body.artifact} was deleted a moment ago; nothing was registered")
    model = models.find_model(session, project_id, body.name)
    if model is None:
        model = create_model(session, state, who, project_id=project_id, name=body.name)
    row.model = model.number
    models.add_version(session, model, row)
    for alias in body.aliases:
        models.set_alias(session, model.number, alias, row.version)
    here = model_node(row.id)
    flow.node(session, here, project_id=project_id, label=f"{model.name}:{row.version}", at=row.created_at)
    _connect(session, source, here, row.created_at, project_id=project_id)
    record(session, state, who, Action.MODEL_REGISTER, model, row, source=source.text)


def _check_bucket(session: Session, row: ModelVersionRow) -> None:
    """Check that the bucket of its files was not deleted or replaced meanwhile."""
    bucket = None if row.bucket is None else bucket_named(session, row.bucket)
    if row.bucket is not None and (bucket is None or bucket.id != row.bucket_id):
        raise Conflict(f"bucket {row.bucket!r} was deleted a moment ago; nothing was registered")


def _connect(session: Session, source: Source, here: NodeRef, at: datetime, *, project_id: int) -> None:
    """Connect the version to its source, and the output of a job to that job."""
    if flow.find(session, source.node) is None:
        label = f"store://{source.node.key}" if source.where is not None else source.text
        of = project_id if source.where is None else source.where.bucket.project_id
        flow.node(session, source.node, project_id=of, label=label, at=at)
    flow.connect(session, source.node, here, Relation.REGISTERED, at)
    job = jobs.get_job(session, source.job_id) if source.job_id is not None and source.where is not None else None
    if job is not None:
        if flow.find(session, job_node(job.id)) is None:  # it is older than the data flow
            job_submitted(session, job, at)
        flow.connect(session, job_node(job.id), source.node, Relation.OUTPUT, at)


def _target(
    session: Session, who: UserIdentity, body: RegisterModel, project_id: int, version_id: str
) -> Located | None:
    """Where a copy goes; None when there is no bucket for one, and none is needed."""
    if body.to is None:
        bucket = buckets.first_bucket(session, project_id)
        if bucket is not None:
            return locate(session, StorePath(bucket.name, f"{FOLDER}/{body.name}/{version_id}/"))
        if body.copy_files is False or (body.copy_files is None and body.artifact is not None):
            return None
        raise bad_field("to", "the project has no bucket to copy the model to; create one with `danlu store mb`")
    try:
        path = parse_store_path(f"{body.to.rstrip('/')}/")
    except ValueError as error:
        raise bad_field("to", str(error)) from error
    try:
        return below(writable(session, who, path.bucket, path.key, is_prefix=True), f"{version_id}/")
    except DanluError as error:
        raise type(error)(f"to: {error.message}", fields={"to": error.message}) from error


def _word(data: bytes) -> str:
    return base64.b32encode(data).decode().rstrip("=").lower()
