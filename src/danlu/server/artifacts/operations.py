"""Artifacts around their bytes: chunks and manifests are read and written while no transaction is open."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy.orm import Session

from danlu.auth.identity import Identity, JobIdentity, UserIdentity
from danlu.content import manifest as manifests
from danlu.content.manifest import MAX_CHUNK_BYTES, read_manifest
from danlu.content.packs import pack
from danlu.errors import Conflict, NotFound, Unavailable
from danlu.server.artifacts import service, uploads
from danlu.server.artifacts.view import version_out
from danlu.server.packs.operations import store_pack
from danlu.server.packs.reading import read_pack
from danlu.server.state import ServerState
from danlu.store.objects import blobs
from danlu.store.objects.base import Bytes
from danlu.store.objects.blobs import Blobs
from danlu.store.queries import artifacts
from danlu.store.sql.artifact_tables import ArtifactVersionRow
from danlu.wire.artifacts import MAX_PACK_BYTES, VersionOut


def manifest_of(state: ServerState, who: Identity, version_id: str) -> bytes:
    return _manifest(state, state.database.read(service.find, who, version_id))


def read_chunks(state: ServerState, who: Identity, version_id: str, digests: Sequence[str]) -> bytes:
    """A pack of chunks that the version's project has sent: as many of them, from the first on, as a pack holds."""
    if isinstance(who, JobIdentity):  # it sees what it made, and not all that its project has
        row = state.database.read(service.find, who, version_id)
        foreign = set(digests) - _chunks(state.blobs, row.manifest)
        if foreign:
            raise NotFound(f"no chunk {min(foreign)[:80]!r} of {version_id}")
    wanted = state.database.read(service.chunks_for_a_pack, who, version_id, digests)
    found = state.blobs.read_many(wanted, MAX_CHUNK_BYTES)
    pieces = []
    for digest, data in zip(wanted, found, strict=True):
        if data is None:
            raise Unavailable(f"the chunk {digest} of {version_id} cannot be read; report it to an admin")
        pieces.append(data)
    header = [{"sha256": digest, "size": len(data)} for digest, data in zip(wanted, pieces, strict=True)]
    return pack(header, pieces)


def delete_version(state: ServerState, who: UserIdentity, version_id: str) -> None:
    row = state.database.read(service.find_to_change, who, version_id)
    named = _contents(state, row)
    with state.database.writing() as session:
        service.find_to_change(session, who, version_id)
        service.remove(session, state, who, version_id, named)


def delete_artifact(state: ServerState, who: UserIdentity, name: str, project: str | None) -> int:
    """Delete an artifact with all its versions; return how many."""
    rows = state.database.read(service.versions_to_delete, who, name, project)
    named = {row.id: _contents(state, row) for row in rows}
    with state.database.writing() as session:
        artifact = service.find_artifact(session, who, name, project)
        service.check_deletable(session, who, artifact)
        for version_id, digests in named.items():
            service.remove(session, state, who, version_id, digests)
        if artifacts.latest_of(session, [artifact.number]):
            raise Conflict(f"{name!r} got another version meanwhile; delete it again")
        artifacts.delete_artifact(session, artifact)
    return len(named)


def take_chunks(state: ServerState, who: Identity, upload_id: str, body: Bytes) -> int:
    """Store chunks, each by its digest, which is checked. Return how many."""
    chunks = read_pack(body, min_bytes=1, max_bytes=MAX_CHUNK_BYTES, max_pack_bytes=MAX_PACK_BYTES)

    def project_of(session: Session) -> int:
        upload = uploads.find(session, who, upload_id)
        upload.seen_at = state.now()
        return upload.project_id

    store_pack(state, chunks, project_of=project_of)
    return len(chunks.parts)


def commit(state: ServerState, who: Identity, upload_id: str, body: bytes) -> VersionOut:
    """Make it a version, if every chunk of it is there: a number is given, and it is visible, in one moment."""
    asked, manifest = uploads.read_commit(body)
    data = manifest.to_json()
    digest = manifests.digest_of(data)
    with state.database.writing() as session:
        known = uploads.committed(session, who, upload_id)
        if known is not None:
            return known
        project_id = uploads.find(session, who, upload_id).project_id
        blobs.expect(session, project_id, [digest], state.now())
    state.blobs.put_bytes(digest, data)
    replaced = state.database.read(uploads.versions_to_replace, who, upload_id)
    doomed = {row.id: _contents(state, row) for row in replaced}
    with state.database.writing() as session:
        known = uploads.committed(session, who, upload_id)
        if known is not None:
            return known
        whole = uploads.Whole(asked, manifest, digest, size=len(data))
        return version_out(session, uploads.finish(session, state, who, upload_id, whole, doomed))


@lru_cache(maxsize=16)
def _chunks(stored: Blobs, manifest: str) -> frozenset[str]:
    """What a manifest names. A digest's content never changes, so it is read once for all of a job's fetches."""
    return frozenset(read_manifest(b"".join(stored.read(manifest))).chunks())


def _contents(state: ServerState, row: ArtifactVersionRow) -> set[str]:
    """All blobs that a version keeps: its manifest, and what that names."""
    return {row.manifest, *read_manifest(_manifest(state, row)).chunks()}


def _manifest(state: ServerState, row: ArtifactVersionRow) -> bytes:
    return b"".join(state.blobs.read(row.manifest))
