"""The rules of uploads in pieces: who owns them, and how they are split."""

from __future__ import annotations

import secrets

from sqlalchemy.orm import Session

from danlu.auth.identity import Identity, JobIdentity
from danlu.errors import Conflict, NotFound
from danlu.server.objects.located import Located, writable
from danlu.server.state import ServerState
from danlu.store.objects import uploads
from danlu.store.sql.tables import UploadRow
from danlu.wire.store import BeginUpload

MAX_PARTS = 9000


def find(session: Session, who: Identity, upload_id: str) -> UploadRow:
    row = uploads.get_upload(session, upload_id)
    if row is None or row.owner != owner_of(who):
        raise NotFound(f"no upload {upload_id!r} of yours; it may be finished")
    return row


def find_writable(session: Session, who: Identity, upload_id: str) -> tuple[UploadRow, Located]:
    """The upload and its target, if the bucket was not replaced and may be written."""
    row = find(session, who, upload_id)
    where = writable(session, who, row.bucket, row.key)
    if where.bucket.id != row.bucket_id:
        raise Conflict(f"bucket {row.bucket!r} was created again since this upload began; start it again")
    return row, where


def add(
    session: Session, state: ServerState, who: Identity, where: Located, body: BeginUpload, service_id: str | None
) -> UploadRow:
    """Create an upload, or return the earlier one of the same bytes."""
    row = same(session, who, where, body)
    if row is not None:
        return row
    row = UploadRow(
        id=secrets.token_hex(16),
        owner=owner_of(who),
        bucket=where.path.bucket,
        bucket_id=where.bucket.id,
        place=where.stored.bucket,
        key=where.path.key,
        size=body.size,
        sha256=body.sha256,
        service_id=service_id,
        created_at=state.now(),
    )
    uploads.add_upload(session, row)
    return row


def same(session: Session, who: Identity, where: Located, body: BeginUpload) -> UploadRow | None:
    """The earlier upload of the same bytes, if there is one."""
    return uploads.find_upload(
        session, owner_of(who), bucket_id=where.bucket.id, key=where.path.key, size=body.size, sha256=body.sha256
    )


def part_bytes(size: int) -> int:
    """16 MiB, or more where that would be too many parts; whole MiB."""
    return max(16, -(-size // (MAX_PARTS << 20))) << 20


def owner_of(who: Identity) -> str:
    return f"{who.job_id}:{who.attempt}" if isinstance(who, JobIdentity) else f"user:{who.user_id}"
