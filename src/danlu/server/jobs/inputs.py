"""The inputs of a job: resolves their names to rows that exist and that the owner may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import DanluError, InvalidInput, NotFound, Unavailable
from danlu.server.artifacts import service as artifacts
from danlu.server.invalid import bad_spec
from danlu.server.models import service as models
from danlu.server.objects.located import Located, locate
from danlu.server.state import ServerState
from danlu.spec.job import JobSpec
from danlu.spec.models import is_version_id, parse_named
from danlu.spec.paths import ARTIFACT, MODEL, S3, SCHEME, WEB, StorePath, parse_store_path
from danlu.store.queries import people
from danlu.store.sql.model_tables import ModelVersionRow


@dataclass
class Inputs:
    """The rows that a job reads."""

    stood_for: dict[str, str] = field(default_factory=dict)
    """Name -> id of buckets; name of an artifact or a model -> id of the version; id of a version of a model -> where
    its files are."""

    places: list[Located] = field(default_factory=list)
    """Store paths, which must exist."""


def find_inputs(
    session: Session, who: UserIdentity, spec: JobSpec, *, project_id: int, known: Mapping[str, str] | None = None
) -> Inputs:
    """Reject inputs that do not exist or that the user may not read. `known`: what the names of a
    stored job refer to."""
    found = Inputs()
    sources = [("data", source) for source in spec.data]
    if spec.code is not None and spec.code.store:
        sources.append(("code.store", spec.code.store))
    for name, source in sources:
        try:
            if source.startswith(ARTIFACT):
                project = people.project_name(session, project_id)
                found.stood_for[source] = _artifact(session, who, source, project=project, known=known or {})
            elif source.startswith(MODEL):
                project = people.project_name(session, project_id)
                _add_model(session, who, source, project=project, known=known or {}, found=found)
            elif not source.startswith((WEB, S3)):
                _add_path(session, who, parse_store_path(source), found=found)
        except DanluError as error:
            raise bad_spec(name, _told(source, error)) from error
    return found


def check_there(state: ServerState, places: Sequence[Located]) -> None:
    """Reject a job with an input that does not exist. No transaction is open: the object store may be remote."""
    for where in places:
        try:
            is_there = _is_there(state, where)
        except Unavailable:
            return  # the node checks again before the command starts
        if not is_there:
            raise bad_spec("data", f"{where.path}: the store has no object and no folder of that name")


def _is_there(state: ServerState, where: Located) -> bool:
    stored = where.stored
    if stored.key and not stored.key.endswith("/"):
        try:
            state.objects.stat(stored)
            return True
        except NotFound:
            stored = StorePath(stored.bucket, f"{stored.key}/")
    return bool(state.objects.list(stored.bucket, prefix=stored.key, delimiter="", after="", limit=1).objects)


def _artifact(session: Session, who: UserIdentity, source: str, *, project: str, known: Mapping[str, str]) -> str:
    """The id of the version. The job's own project comes first if several have this name."""
    if source in known:
        return artifacts.find(session, who, known[source]).id
    name = source[len(ARTIFACT) :]
    try:
        return artifacts.find_named(session, who, name, project).id
    except NotFound:
        return artifacts.find_named(session, who, name, None).id


def _add_model(
    session: Session, who: UserIdentity, source: str, *, project: str, known: Mapping[str, str], found: Inputs
) -> None:
    version_id = known.get(source)
    if version_id is None:
        row = _model(session, who, source[len(MODEL) :], project=project)
    else:
        row = models.get_version(session, who, version_id)
    found.stood_for[source] = row.id
    if row.artifact_id is not None and row.bucket is None:
        found.stood_for[row.id] = f"{ARTIFACT}{artifacts.find(session, who, row.artifact_id).id}"
        return
    path = StorePath(row.bucket or "", row.key)
    _add_path(session, who, path, found=found)
    if found.stood_for[path.bucket] != row.bucket_id:
        raise NotFound(f"its files are gone: bucket {path.bucket!r} was deleted")
    found.stood_for[row.id] = str(path)


def _model(session: Session, who: UserIdentity, name: str, *, project: str) -> ModelVersionRow:
    if is_version_id(name):
        return models.get_version(session, who, name)
    try:
        wanted = parse_named(name.replace("@", ":", 1))
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    try:
        model = models.find_model(session, who, wanted.name, wanted.project or project)
    except NotFound:
        if wanted.project is not None:
            raise
        model = models.find_model(session, who, wanted.name)
    return models.find_version(session, model, wanted.version)


def _add_path(session: Session, who: UserIdentity, path: StorePath, *, found: Inputs) -> None:
    where = locate(session, path)
    rights.check_read_object(who, path, None if where is None else where.bucket)
    assert where is not None  # the check fails without a bucket
    found.stood_for[path.bucket] = where.bucket.id
    found.places.append(where)


def _told(source: str, error: DanluError) -> str:
    return error.message if source.startswith(SCHEME) else f"{source}: {error.message}"
