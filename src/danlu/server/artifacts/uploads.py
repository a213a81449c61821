"""The rules of uploading an artifact: begin, say what is lacking, make it a version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from pydantic import ValidationError
from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Identity, JobIdentity, UserIdentity
from danlu.content import manifest as manifests
from danlu.content.manifest import Manifest
from danlu.content.names import check_artifact_name, is_artifact_id
from danlu.errors import AlreadyExists, Conflict, NotAllowed, NotFound
from danlu.server.artifacts import service
from danlu.server.artifacts.view import version_out
from danlu.server.audit.service import record_action
from danlu.server.folders.service import need_folder
from danlu.server.invalid import bad_field
from danlu.server.packs.reading import check_digest
from danlu.server.scope import project_to_use
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.flow import Relation, job_node
from danlu.store.metrics.decode import clean
from danlu.store.objects import blobs
from danlu.store.queries import artifacts, flow, jobs
from danlu.store.sql.artifact_tables import ArtifactRow, ArtifactUploadRow, ArtifactVersionRow
from danlu.wire.artifacts import (
    ArtifactUploadOut,
    BeginArtifact,
    CommitArtifact,
    LackingOut,
    OnName,
    VersionOut,
)


def begin(session: Session, state: ServerState, who: Identity, body: BeginArtifact) -> ArtifactUploadOut:
    """Begin an upload, or take up the one of that id. One that is whole is answered with its version."""
    if not is_artifact_id(body.artifact):
        told = f"{body.artifact[:60]!r} is not the id of an upload; expected art- and 26 characters of a-z and 2-7"
        raise bad_field("artifact", told)
    name = _name_in("name", body.name)
    known = artifacts.get_version(session, body.artifact)
    if known is not None:
        service.check_visible(session, who, known)
        return _out(session, known, name)
    upload = artifacts.get_upload(session, body.artifact)
    if upload is not None:
        find(session, who, body.artifact).seen_at = state.now()
        return ArtifactUploadOut(id=upload.id, name=upload.name)
    project_id, owner_id, job_id = _belongs(session, who, body.project)
    if body.folder is not None:
        need_folder(session, state, project_id, body.folder, may_make=body.make_folder)
    there = artifacts.find_artifact(session, project_id, name)
    if there is not None and body.conflict is OnName.ERROR:
        raise AlreadyExists(f"there is an artifact {name!r} already; give it another name, or make it a version of it")
    if there is not None and body.conflict is OnName.SKIP:
        latest = artifacts.latest_of(session, [there.number]).get(there.number)
        is_seen = latest is not None and service.is_visible(session, who, latest)
        shown = version_out(session, latest) if latest is not None and is_seen else None
        return ArtifactUploadOut(id=body.artifact, name=name, version=shown, is_skipped=True)
    if there is not None and body.conflict is OnName.NEW and body.other_name is not None:
        name = _name_in("other_name", body.other_name)
    if there is not None and body.conflict is OnName.REPLACE:
        service.check_deletable(session, who, there)
    now = state.now()
    artifacts.add_upload(
        session,
        ArtifactUploadRow(
            id=body.artifact,
            project_id=project_id,
            owner_id=owner_id,
            job_id=job_id,
            name=name,
            replaces=body.conflict is OnName.REPLACE,
            begun_at=now,
            seen_at=now,
        ),
    )
    return ArtifactUploadOut(id=body.artifact, name=name)


def find(session: Session, who: Identity, upload_id: str) -> ArtifactUploadRow:
    """The upload, if it is of the one who asks, and may still become something in its project."""
    row = artifacts.get_upload(session, upload_id)
    if row is None or not service.is_own(who, owner_id=row.owner_id, job_id=row.job_id):
        raise NotFound(f"no upload {upload_id[:60]!r} of yours; begin it again")
    if isinstance(who, UserIdentity) and not rights.can_use_project(who, row.project_id):
        if rights.can_see_project(who, row.project_id):
            raise NotAllowed(f"{row.name!r} belongs to a project that you may not change; ask an owner of it")
        raise NotFound(f"no upload {upload_id[:60]!r} of yours; begin it again")
    return row


def lacking(session: Session, state: ServerState, who: Identity, upload_id: str, digests: Sequence[str]) -> LackingOut:
    """Which of these the project has not sent. Those that it has are kept from now on as if they were sent now."""
    upload = find(session, who, upload_id)
    for digest in digests:
        check_digest(digest)
    known = blobs.known_sizes(session, upload.project_id, digests)
    blobs.touch(session, known, state.now())
    upload.seen_at = state.now()
    return LackingOut(lacking=sorted(set(digests) - set(known)))


@dataclass(frozen=True, slots=True)
class Whole:
    """An upload of which everything has been sent."""

    asked: CommitArtifact
    manifest: Manifest
    digest: str
    """Of the manifest, a blob of `size` bytes."""

    size: int


def finish(
    session: Session,
    state: ServerState,
    who: Identity,
    upload_id: str,
    whole: Whole,
    doomed: Mapping[str, set[str]],
) -> ArtifactVersionRow:
    """Make the upload a version, in place of those that are `doomed` (version -> the blobs that it names)."""
    upload = find(session, who, upload_id)
    _check_chunks(session, upload.project_id, whole.manifest)
    blobs.own(session, upload.project_id, whole.digest, state.now(), size=whole.size)
    blobs.refer(session, upload.project_id, [whole.digest, *whole.manifest.chunks()], +1)
    for version_id, contents in doomed.items():
        service.remove(session, state, who, version_id, contents)
    row = _add_version(session, state, upload, whole)
    title, at = f"{upload.name}:{row.version}", state.now()
    thing, project_id = f"artifact/{row.id}", upload.project_id
    record_action(session, who, Action.ARTIFACT_MAKE, thing, at=at, project_id=project_id, name=title)
    artifacts.forget_upload(session, upload_id)
    return row


def _add_version(session: Session, state: ServerState, upload: ArtifactUploadRow, whole: Whole) -> ArtifactVersionRow:
    asked, manifest = whole.asked, whole.manifest
    now = state.now()
    artifact = artifacts.find_artifact(session, upload.project_id, upload.name)
    labels = clean(asked.labels)
    if artifact is None:
        artifact = ArtifactRow(
            project_id=upload.project_id, name=upload.name, labels=[], description="", created_at=now
        )
        artifacts.add_artifact(session, artifact)
    # writers take turns, so that no two get the same number
    artifact.last_version += 1
    artifact.labels = [*artifact.labels, *(label for label in labels if label not in artifact.labels)][:100]
    artifact.description = clean(asked.description) or artifact.description
    row = ArtifactVersionRow(
        id=upload.id,
        artifact=artifact.number,
        version=artifact.last_version,
        manifest=whole.digest,
        size=manifest.size,
        num_files=len(manifest.files),
        num_references=len(manifest.references),
        labels=labels,
        aliases=[],
        description=clean(asked.description),
        owner_id=upload.owner_id,
        job_id=upload.job_id,
        made_at=now if asked.created_at is None else datetime.fromtimestamp(asked.created_at, timezone.utc),
        created_at=now,
    )
    artifacts.add_version(session, row)
    service.set_aliases(session, row, asked.aliases)
    node = service.node_of(row)
    flow.node(session, node, project_id=upload.project_id, label=f"{upload.name}:{row.version}", at=now)
    if upload.job_id is not None:
        if flow.find(session, job_node(upload.job_id)) is None:  # the job is older than the data flow
            flow.node(session, job_node(upload.job_id), project_id=upload.project_id, label=upload.job_id, at=now)
        flow.connect(session, job_node(upload.job_id), node, Relation.MADE, now)
    return row


def versions_to_replace(session: Session, who: Identity, upload_id: str) -> Sequence[ArtifactVersionRow]:
    """Versions that this one is to replace."""
    upload = find(session, who, upload_id)
    there = artifacts.find_artifact(session, upload.project_id, upload.name) if upload.replaces else None
    return () if there is None else artifacts.list_versions(session, there.number, before=None, limit=10_000)


def committed(session: Session, who: Identity, upload_id: str) -> VersionOut | None:
    """The version that an earlier try has made of this upload: its answer was lost."""
    row = artifacts.get_version(session, upload_id)
    if row is None:
        return None
    service.check_visible(session, who, row)
    return version_out(session, row)


def _check_chunks(session: Session, project_id: int, manifest: Manifest) -> None:
    wanted = manifest.chunks()
    known = blobs.known_sizes(session, project_id, wanted)
    missing = wanted.keys() - known.keys()
    if missing:
        raise Conflict(
            f"{len(missing)} of {len(wanted)} chunks have not arrived, such as {min(missing)}; list the missing "
            "chunks and send them"
        )
    for digest, size in wanted.items():
        if known[digest] != size:
            raise bad_field("manifest", f"the chunk {digest} has {known[digest]} bytes, not {size}")


def read_commit(body: bytes) -> tuple[CommitArtifact, Manifest]:
    """What a commit asks for, checked."""
    try:
        asked = CommitArtifact.model_validate_json(body)
        return asked, manifests.manifest_of(asked.manifest)
    except ValidationError as error:
        one = error.errors()[0]
        raise bad_field(".".join(str(part) for part in one["loc"]) or "body", str(one["msg"])) from error
    except ValueError as error:
        raise bad_field("manifest", str(error)) from error


def _name_in(field: str, name: str) -> str:
    try:
        return check_artifact_name(name)
    except ValueError as error:
        raise bad_field(field, str(error)) from error


def _belongs(session: Session, who: Identity, project: str | None) -> tuple[int, int, str | None]:
    """Project, owner and job of an upload."""
    if isinstance(who, JobIdentity):
        job = jobs.get_job(session, who.job_id)
        if job is None:
            raise NotFound(f"no job {who.job_id!r}")
        return job.project_id, job.owner_id, job.id
    return project_to_use(session, who, project), who.user_id, None


def _out(session: Session, row: ArtifactVersionRow, name: str) -> ArtifactUploadOut:
    return ArtifactUploadOut(id=row.id, name=name, version=version_out(session, row))
