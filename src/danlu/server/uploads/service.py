"""The rules of uploads in pieces."""

from __future__ import annotations

import secrets
from datetime import timedelta

from sqlalchemy.orm import Session

from danlu.auth.identity import Identity, JobIdentity
from danlu.errors import BadChecksum, Conflict, NotFound
from danlu.server.objects.service import object_out
from danlu.server.state import ServerState
from danlu.spec.paths import StorePath
from danlu.store import uploads
from danlu.store.tables import UploadRow
from danlu.wire.store import BeginUpload, ObjectOut, UploadOut

KEPT = timedelta(days=7)
"""How long an unfinished upload can be taken up again."""


def begin(session: Session, state: ServerState, who: Identity, path: StorePath, body: BeginUpload) -> UploadOut:
    """Begin an upload, or take up the one that was begun for the same bytes. What nobody went on with is dropped."""
    for old in uploads.begun_before(session, state.now() - KEPT):
        uploads.delete_upload(session, old.id)
        state.uploads.drop(old.id)
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
        info = state.objects.take(StorePath(row.bucket, row.key), state.uploads.file(row.id), row.sha256)
    except BadChecksum:
        forget(state, row)  # these bytes are of no use: the next try begins anew
        raise
    forget(state, row)
    return object_out(info)


def forget(state: ServerState, row: UploadRow) -> None:
    uploads.forget(state.database, state.uploads, state.objects, row)


def upload_out(state: ServerState, row: UploadRow) -> UploadOut:
    return UploadOut(id=row.id, offset=min(state.uploads.offset(row.id), row.size), size=row.size)


def owner_of(who: Identity) -> str:
    return f"{who.job_id}:{who.attempt}" if isinstance(who, JobIdentity) else f"user:{who.user_id}"
