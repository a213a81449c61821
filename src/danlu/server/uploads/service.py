"""The rules of uploads in pieces."""

from __future__ import annotations

import secrets

from sqlalchemy.orm import Session

from danlu.auth.identity import Identity, JobIdentity
from danlu.errors import BadChecksum, Conflict, NotFound
from danlu.server.objects.service import object_out
from danlu.server.state import ServerState
from danlu.spec.paths import StorePath
from danlu.store import uploads
from danlu.store.objects import ObjectInfo
from danlu.store.tables import UploadRow
from danlu.wire.store import BeginUpload, ObjectOut, UploadOut


def begin(session: Session, state: ServerState, who: Identity, path: StorePath, body: BeginUpload) -> UploadOut:
    """Begin an upload, or take up the one that was begun for the same bytes."""
    row = uploads.find_upload(
        session, owner_of(who), bucket=path.bucket, key=path.key, size=body.size, sha256=body.sha256
    )
    if row is None:
        row = UploadRow(
            id=secrets.token_hex(16),
            owner=owner_of(who),
            bucket=path.bucket,
            key=path.key,
            size=body.size,
            sha256=body.sha256,
            created_at=state.now(),
        )
        uploads.add_upload(session, row)
    return upload_out(state, row)


def find(session: Session, who: Identity, upload_id: str) -> UploadRow:
    row = uploads.get_upload(session, upload_id)
    if row is None or row.owner != owner_of(who):
        raise NotFound(f"no upload {upload_id!r} of yours; it may be finished")
    return row


def check_offset(state: ServerState, row: UploadRow, offset: int) -> None:
    arrived = state.uploads.offset(row.id)
    if offset > arrived:
        raise Conflict(f"{arrived} bytes have arrived; go on from there, not from {offset}")


def finish(state: ServerState, row: UploadRow) -> ObjectOut:
    """Make the object of the pieces, if they are whole and what was announced."""
    arrived = state.uploads.offset(row.id)
    if arrived != row.size:
        raise Conflict(f"{arrived} of {row.size} bytes have arrived; go on from there")
    try:
        info = _copy(state, row)
    except BadChecksum:
        forget(state, row)  # these bytes are of no use: the next try begins anew
        raise
    forget(state, row)
    return object_out(info)


def forget(state: ServerState, row: UploadRow) -> None:
    state.database.write(uploads.delete_upload, row.id)
    state.uploads.drop(row.id)


def _copy(state: ServerState, row: UploadRow) -> ObjectInfo:
    writer = state.objects.put(StorePath(row.bucket, row.key))
    try:
        for piece in state.uploads.read(row.id):
            writer.write(piece)
        return writer.commit(row.sha256)
    except BaseException:
        writer.abort()
        raise


def upload_out(state: ServerState, row: UploadRow) -> UploadOut:
    return UploadOut(id=row.id, offset=min(state.uploads.offset(row.id), row.size), size=row.size)


def owner_of(who: Identity) -> str:
    return f"{who.job_id}:{who.attempt}" if isinstance(who, JobIdentity) else f"user:{who.user_id}"
