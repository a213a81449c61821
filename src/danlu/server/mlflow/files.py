"""Where the files of runs, logged models, traces and model versions are: in the project's bucket, below `mlflow/`.

A path begins with the owner of the files: `runs/<id>/...`, `models/<id>/...`, `traces/<id>/...`, `versions/<id>/...`.
Rights to see or change the owner are rights to read or write its files.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

from sqlalchemy.orm import Session

from danlu.errors import InvalidInput, NotAllowed, NotFound
from danlu.server.mlflow import logged_models, runs
from danlu.server.mlflow.door import Caller, reader_of
from danlu.server.mlflow.traces import service as traces
from danlu.server.models import service as models
from danlu.server.objects.located import Located, locate
from danlu.server.state import ServerState
from danlu.spec.paths import StorePath, check_key
from danlu.store.queries import buckets
from danlu.store.sql.model_tables import ModelVersionRow

FOLDER = "mlflow"


class Asked(NamedTuple):
    """The parts of a path in a request."""

    kind: str
    owner: str
    key: str
    """Below the owner; empty: all of it."""


def asked_in(path: str) -> Asked:
    kind, _, rest = path.strip("/").partition("/")
    owner, _, key = rest.partition("/")
    try:
        check_key(f"{FOLDER}/{path.strip('/')}")
    except ValueError as error:
        raise InvalidInput(f"Invalid artifact path: {error}") from error
    if kind not in ("runs", "models", "traces", "versions") or not owner:
        raise InvalidInput(
            f"Invalid artifact path {path[:100]!r}: expected runs/<id>/..., as in the run's artifact_uri"
        )
    return Asked(kind, owner, key)


def check_path(path: str) -> None:
    """Check a path below a run or a version, for requests that name the owner separately."""
    try:
        check_key(path)
    except ValueError as error:
        raise InvalidInput("Invalid path") from error


def readable(session: Session, caller: Caller, asked: Asked) -> Located:
    """The location of a file or a folder, if the caller may see its owner."""
    check_read(session, caller, asked)
    return _of_version(session, caller, asked) if asked.kind == "versions" else _in_bucket(session, caller, asked)


def check_read(session: Session, caller: Caller, asked: Asked) -> None:
    if asked.kind == "runs":
        runs.find(session, caller, asked.owner)
    elif asked.kind == "models":
        logged_models.find(session, caller, asked.owner)
    elif asked.kind == "traces":
        traces.find(session, caller, asked.owner)
    else:
        version_of(session, caller, asked.owner)


def make_bucket(session: Session, state: ServerState, caller: Caller, asked: Asked) -> None:
    """Check that the caller may write there; create a bucket if the project has none."""
    check_write(session, caller, asked)
    project_id = caller.project_id(session)
    if buckets.first_bucket(session, project_id) is None:
        buckets.add_bucket(session, f"{FOLDER}-{secrets.token_hex(6)}", project_id=project_id, at=state.now())


def check_write(session: Session, caller: Caller, asked: Asked) -> None:
    if asked.kind == "runs":
        runs.find_to_change(session, caller, asked.owner)
    elif asked.kind == "models":
        logged_models.find_to_change(session, caller, asked.owner)
    elif asked.kind == "traces":
        traces.find_to_change(session, caller, asked.owner)
    else:
        raise NotAllowed("the files of a model version do not change; register another version")


def version_of(session: Session, caller: Caller, version_id: str) -> ModelVersionRow:
    return models.get_version(session, reader_of(caller), version_id)


def _of_version(session: Session, caller: Caller, asked: Asked) -> Located:
    row = version_of(session, caller, asked.owner)
    if row.bucket is None:
        raise NotFound(f"the files of {asked.owner} are those of an artifact; fetch it with `danlu artifacts get`")
    where = locate(session, StorePath(row.bucket, f"{row.key}{asked.key}"))
    if where is None or where.bucket.id != row.bucket_id:
        raise NotFound(f"the files of {asked.owner} are gone: bucket {row.bucket!r} was deleted")
    return where


def _in_bucket(session: Session, caller: Caller, asked: Asked) -> Located:
    bucket = buckets.first_bucket(session, caller.project_id(session))
    if bucket is None:
        raise NotFound(f"{asked.owner} has no files")
    key = "/".join(part for part in (FOLDER, asked.kind, asked.owner, asked.key) if part)
    where = locate(session, StorePath(bucket.name, key))
    assert where is not None  # it was found a moment ago, in this transaction
    return where
