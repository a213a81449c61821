"""What a model is registered from: a job's output, an artifact, or a path in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import DanluError, NotFound
from danlu.server.artifacts import service as artifacts_service
from danlu.server.invalid import bad_field
from danlu.server.jobs import service as jobs_service
from danlu.server.objects.located import Located, below, readable
from danlu.server.runs import service as runs_service
from danlu.spec.flow import NodeRef, store_node
from danlu.spec.paths import StorePath, check_key, parse_store_path
from danlu.spec.runs import SYSTEM
from danlu.store.metrics.journals import journals_of
from danlu.store.queries import runs
from danlu.store.sql.run_tables import RunRow
from danlu.wire.models import RegisterModel

MODEL_FOLDER = "model/"
MAX_RUNS = 20
MAX_METRICS = 1000


@dataclass(frozen=True)
class Measured:
    """Metrics and hyperparameters of a model, from its runs."""

    run_id: str | None = None
    metrics: dict[str, float | None] = field(default_factory=dict)
    hparams: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """Where a version comes from."""

    text: str
    """As users name it."""

    node: NodeRef
    """Its node in the data flow."""

    where: Located | None = None
    """Where the files are; None when they are those of the artifact."""

    whole: Located | None = None
    """Used instead when there is nothing at `where`."""

    job_id: str | None = None
    artifact_id: str | None = None
    manifest: str | None = None
    runs: Sequence[RunRow] = ()
    """Runs whose metrics are used, the newest last."""

    hparams: dict[str, Any] = field(default_factory=dict)
    image: str | None = None


def find_source(session: Session, who: UserIdentity, body: RegisterModel) -> Source:
    """Reject a source that does not exist or that the user may not read, before anything is stored."""
    if body.job is not None:
        found = _job(session, who, body.job, body.folder)
    elif body.artifact is not None:
        found = _artifact(session, who, body.artifact, body.project)
    else:
        assert body.path is not None  # the body has one of them
        found = _path(session, who, body.path)
    if body.run is None:
        return found
    return Source(**{**vars(found), "runs": [runs_service.find(session, who, body.run)]})


def journals_of_runs(session: Session, source: Source) -> list[tuple[RunRow, str]]:
    """The journals of the runs whose metrics are used."""
    return [(run, journal.name) for run in source.runs for journal in journals_of(session, run.number)]


def measured(session: Session, source: Source) -> Measured:
    """The last values of all metrics, and the hyperparameters, as they are now."""
    metrics: dict[str, float | None] = {}
    hparams = dict(source.hparams)
    fresh = [row for run in source.runs if (row := runs.get_run(session, run.id)) is not None]
    series = runs.rolled_up(session, [row.number for row in fresh], without=SYSTEM, most=MAX_METRICS)
    for row in fresh:
        metrics.update({key: value for key, value in row.summary.items() if _is_number(value)})
        metrics.update({f"{one.type}/{one.name}".lstrip("/"): one.last for one in series[row.number]})
        hparams.update(row.hparams)
    return Measured(fresh[-1].id if fresh else None, metrics, hparams)


def _job(session: Session, who: UserIdentity, name: str, folder: str | None) -> Source:
    row = jobs_service.find(session, who, name)
    output = _readable(session, who, parse_store_path(row.output), "job")
    if output.bucket.id != (row.bucket_ids or {}).get(output.path.bucket, output.bucket.id):
        raise NotFound(f"job: the output of {row.id} is gone: bucket {output.path.bucket!r} was deleted")
    made = runs.list_runs(session, runs.RunFilter(job_id=row.id), before=None, limit=MAX_RUNS)
    inner = MODEL_FOLDER if folder is None else _inside(folder)
    return Source(
        text=f"job:{row.id}",
        node=store_node(str(output.path)),
        where=below(output, inner),
        whole=output if folder is None else None,
        job_id=row.id,
        # the newest run takes precedence; over all, the job's own run, which metrics are pushed to
        runs=sorted(made, key=lambda run: (run.is_own, run.number)),
        hparams=dict(row.spec.get("hyperparameters") or {}),
        image=row.spec.get("image"),
    )


def _artifact(session: Session, who: UserIdentity, name: str, project: str | None) -> Source:
    try:
        row = artifacts_service.find_named(session, who, name, None)
    except DanluError:
        if project is None:
            raise
        row = artifacts_service.find_named(session, who, name, project)
    made_by = runs.get_run(session, row.run_id) if row.run_id is not None else None
    if made_by is not None and not rights.can_see_project(who, made_by.project_id):
        made_by = None  # the user may not read its metrics
    return Source(
        text=f"artifact:{row.id}",
        node=artifacts_service.node_of(row),
        job_id=row.job_id,
        artifact_id=row.id,
        manifest=row.manifest,
        runs=[made_by] if made_by is not None else (),
    )


def _path(session: Session, who: UserIdentity, text: str) -> Source:
    try:
        path = parse_store_path(text)
    except ValueError as error:
        raise bad_field("path", str(error)) from error
    if not path.key:
        raise bad_field("path", f"{text!r} is a whole bucket; name a folder or an object in it")
    where = _readable(session, who, path, "path")
    return Source(text=str(path), node=store_node(str(path)), where=where)


def _readable(session: Session, who: UserIdentity, path: StorePath, name: str) -> Located:
    try:
        return readable(session, who, path.bucket, path.key, is_prefix=True)
    except NotFound as error:
        raise NotFound(f"{name}: {error.message}") from error


def _inside(folder: str) -> str:
    inner = folder.strip("/")
    try:
        check_key(inner, allow_folder=True)
    except ValueError as error:
        raise bad_field("folder", f"{error}; expected a folder of the job's output, such as model") from error
    return f"{inner}/" if inner else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
