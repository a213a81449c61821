"""What is added to the data flow automatically: what jobs read and write, their runs, and deletions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from danlu.auth.identity import JobIdentity
from danlu.launch.sources import sources_of
from danlu.server.objects.located import Located, locate
from danlu.spec.flow import NodeKind, NodeRef, Relation, job_node, run_node, store_node
from danlu.spec.job import JobSpec, stored_job
from danlu.spec.models import is_version_id, model_node
from danlu.spec.paths import ARTIFACT, SCHEME, StorePath, parse_store_path
from danlu.store.queries import buckets, flow, flow_paths, models
from danlu.store.sql.run_tables import RunRow
from danlu.store.sql.tables import BucketRow, JobRow


def job_submitted(session: Session, row: JobRow, at: datetime, spec: JobSpec | None = None) -> None:
    """Add a job and what it reads."""
    spec = stored_job(row.spec) if spec is None else spec
    job = job_node(row.id)
    flow.add_node(session, job, project_id=row.project_id, label=row.name, at=at)
    stood_for = row.bucket_ids or {}
    for source, place in sources_of(spec, stood_for).items():
        version_id = stood_for.get(source, "")
        if is_version_id(version_id):
            _connect_version(session, model_node(version_id), job, at)
        if place.startswith(SCHEME):
            _connect_path(session, place, row, Relation.DATA, at)
            path = parse_store_path(place)
            for version in models.copies_around(session, path, _bucket_id(row, path)):
                flow.connect(session, model_node(version.id), job, Relation.DATA, at)
        elif place.startswith(ARTIFACT):
            _connect_version(session, NodeRef(NodeKind.ARTIFACT, place[len(ARTIFACT) :]), job, at)
    if spec.code is not None and spec.code.store is not None:
        _connect_path(session, spec.code.store, row, Relation.CODE, at)
    if spec.code is not None and spec.code.tree is not None:
        # one node per project: the same code in another project must stay invisible
        code = NodeRef(NodeKind.CODE, f"{row.project_id}/{spec.code.tree}")
        flow.node(session, code, project_id=row.project_id, label=f"code {spec.code.tree[:12]}", at=at)
        flow.connect(session, code, job, Relation.CODE, at)


def jobs_deleted(session: Session, job_ids: Sequence[str], at: datetime) -> None:
    flow.bury_many(session, NodeKind.JOB, job_ids, at)


def is_output_known(session: Session, who: JobIdentity) -> bool:
    """Whether it is recorded that the job has put files below its output."""
    return flow.is_connected(session, job_node(who.job_id), store_node(who.writes.path))


def job_wrote(session: Session, who: JobIdentity, at: datetime) -> None:
    """Record that a job has put files below its output."""
    job, output = job_node(who.job_id), store_node(who.writes.path)
    if flow.find(session, job) is None:
        return  # the job was just deleted, or is older than the data flow and was never looked up
    project_id = _project_of(session, output, who.project_id)
    flow.node(session, output, project_id=project_id, label=_path(output), at=at)
    flow.connect(session, job, output, Relation.OUTPUT, at)


def run_made(session: Session, row: RunRow, at: datetime) -> None:
    """Add a run and the job that created it. Also called when a run was restored from the trash."""
    run = run_node(row.id)
    flow.node(session, run, project_id=row.project_id, label=row.name, at=at)
    if row.job_id is not None and flow.find(session, job_node(row.job_id)) is not None:
        flow.connect(session, job_node(row.job_id), run, Relation.MADE, at)


def run_renamed(session: Session, row: RunRow) -> None:
    flow.rename(session, run_node(row.id), row.name)


def runs_deleted(session: Session, run_ids: Sequence[str], at: datetime) -> None:
    flow.bury_many(session, NodeKind.RUN, run_ids, at)


def bucket_moved(session: Session, bucket: str, project_id: int) -> None:
    flow.move_bucket(session, bucket, project_id)


def bucket_deleted(session: Session, bucket: str, bucket_id: str) -> None:
    """Keep its paths, distinct from those of a later bucket with the same name."""
    flow.retire_bucket(session, bucket, bucket_id)


def objects_put(session: Session, path: StorePath) -> None:
    """Files were put there: restore its paths that were marked as deleted."""
    flow_paths.revive(session, path)


def paths_around(session: Session, path: StorePath) -> list[Located]:
    """The paths of the data flow that a deletion at `path` may have emptied, and their locations."""
    found = (locate(session, near) for near in flow_paths.around(session, path))
    return [one for one in found if one is not None]


def paths_emptied(session: Session, paths: Sequence[StorePath], at: datetime) -> None:
    """Mark paths as deleted."""
    for path in paths:
        flow.bury(session, store_node(str(path)), at)


def _connect_path(session: Session, source: str, row: JobRow, relation: Relation, at: datetime) -> None:
    """Connect a path that a job reads. It belongs to its bucket's project."""
    path = parse_store_path(source)
    bucket = buckets.get_bucket(session, path.bucket)
    if bucket is None or not _is_meant(row, bucket):
        return  # deleted meanwhile, or replaced by another bucket
    found = store_node(str(path))
    flow.node(session, found, project_id=bucket.project_id, label=_path(found), at=at)
    flow.connect(session, found, job_node(row.id), relation, at)


def _connect_version(session: Session, version: NodeRef, job: NodeRef, at: datetime) -> None:
    """Connect a version of an artifact or a model that a job reads, unless it was deleted meanwhile."""
    if flow.find(session, version) is not None:
        flow.connect(session, version, job, Relation.DATA, at)


def _is_meant(row: JobRow, bucket: BucketRow) -> bool:
    """Whether a job's bucket name refers to this bucket. Jobs of older servers have no bucket ids: any older bucket
    matches."""
    if row.bucket_ids is None:
        return bucket.created_at <= row.created_at
    return bucket.id == row.bucket_ids.get(bucket.name)


def _bucket_id(row: JobRow, path: StorePath) -> str:
    """Id of the bucket that a path of the job referred to at submission."""
    return str((row.bucket_ids or {}).get(path.bucket, ""))


def _project_of(session: Session, node: NodeRef, otherwise: int) -> int:
    bucket = buckets.get_bucket(session, node.key.partition("/")[0])
    return otherwise if bucket is None else bucket.project_id


def _path(node: NodeRef) -> str:
    return f"store://{node.key}"
