"""The rules of uploads in pieces."""

from __future__ import annotations

import secrets
from datetime import timedelta

from sqlalchemy.orm import Session

from danlu.auth.identity import Identity, JobIdentity
from danlu.errors import BadChecksum, Conflict, NotFound
from danlu.server.invalid import bad_field
from danlu.server.objects.service import object_out
from danlu.server.state import ServerState
from danlu.spec.paths import StorePath
from danlu.store.objects import uploads
from danlu.store.sql.tables import UploadRow
from danlu.wire.store import AskGrants, BeginUpload, GrantsOut, ObjectOut, UploadOut

KEPT = timedelta(days=7)
"""How long an unfinished upload can be taken up again."""

MAX_PARTS = 9000


def begin(state: ServerState, who: Identity, path: StorePath, body: BeginUpload) -> UploadOut:
    """Begin an upload, or take up the one that was begun for the same bytes. What nobody went on with is dropped."""
    with state.database.reading() as session:
        old = uploads.begun_before(session, state.now() - KEPT)
        row = _same(session, who, path, body)
    for one in old:
        forget(state, one)
    if row is not None and not _can_go_on(state, row, body):
        forget(state, row)
        row = None
    if row is None:
        grants = state.objects.grants() if body.direct and body.size > 0 else None
        # asked for before the row is written: no transaction waits for the service
        service_id = grants.begin(path, body.sha256) if grants is not None else None
        row = state.database.write(_add, state, who, path, body, service_id)
        if grants is not None and service_id is not None and row.service_id != service_id:
            grants.drop(path, service_id)
    return upload_out(state, row)


def _add(
    session: Session, state: ServerState, who: Identity, path: StorePath, body: BeginUpload, service_id: str | None
) -> UploadRow:
    row = _same(session, who, path, body)
    if row is not None:
        return row
    row = UploadRow(
        id=secrets.token_hex(16),
        owner=owner_of(who),
        bucket=path.bucket,
        key=path.key,
        size=body.size,
        sha256=body.sha256,
        service_id=service_id,
        created_at=state.now(),
    )
    uploads.add_upload(session, row)
    return row


def _same(session: Session, who: Identity, path: StorePath, body: BeginUpload) -> UploadRow | None:
    """The upload of these bytes that was begun earlier."""
    return uploads.find_upload(
        session, owner_of(who), bucket=path.bucket, key=path.key, size=body.size, sha256=body.sha256
    )


def _can_go_on(state: ServerState, row: UploadRow, body: BeginUpload) -> bool:
    """Whether an earlier upload fits: a service may have dropped it, and its sender may not reach the service now."""
    if row.service_id is None:
        return True
    grants = state.objects.grants()
    if grants is None or not body.direct:
        return False
    try:
        grants.parts(StorePath(row.bucket, row.key), row.service_id)
    except NotFound:
        return False
    return True


def grant(state: ServerState, row: UploadRow, body: AskGrants) -> GrantsOut:
    grants = state.objects.grants()
    if grants is None or row.service_id is None:
        raise Conflict("the parts of this upload go through the server; send them from its offset")
    last = -(-row.size // part_bytes(row.size))
    for part in body.parts:
        if part.number > last:
            raise bad_field("parts", f"part {part.number} is beyond the last one, {last}")
    path = StorePath(row.bucket, row.key)
    return GrantsOut(urls=[grants.to_put(path, row.service_id, part.number, part.md5) for part in body.parts])


def part_bytes(size: int) -> int:
    """16 MiB, or more where that would be too many parts; whole MiB."""
    return max(16, -(-size // (MAX_PARTS << 20))) << 20


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
    if row.service_id is not None:
        return _finish_parts(state, row)
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


def _finish_parts(state: ServerState, row: UploadRow) -> ObjectOut:
    """The service has checked each part as it came; here it is seen that none is missing."""
    grants, path = state.objects.grants(), StorePath(row.bucket, row.key)
    if grants is None or row.service_id is None:
        raise Conflict("direct transfers were switched off; begin the upload again")
    arrived = grants.parts(path, row.service_id)
    step = part_bytes(row.size)
    wanted = {number: min(step, row.size - begin) for number, begin in enumerate(range(0, row.size, step), start=1)}
    missing = [number for number, size in wanted.items() if number not in arrived or arrived[number].size != size]
    if missing:
        raise Conflict(f"{len(missing)} of {len(wanted)} parts have not arrived, such as part {missing[0]}; send them")
    info = grants.finish(path, row.service_id, {number: arrived[number] for number in wanted})
    state.database.write(uploads.delete_upload, row.id)
    return object_out(info)


def forget(state: ServerState, row: UploadRow) -> None:
    uploads.forget(state.database, state.uploads, state.objects, row)


def upload_out(state: ServerState, row: UploadRow) -> UploadOut:
    grants = state.objects.grants()
    if row.service_id is None or grants is None:
        return UploadOut(id=row.id, offset=min(state.uploads.offset(row.id), row.size), size=row.size)
    parts = grants.parts(StorePath(row.bucket, row.key), row.service_id)
    step = part_bytes(row.size)
    full = [number for number, part in parts.items() if part.size == min(step, row.size - (number - 1) * step)]
    num_bytes = sum(parts[number].size for number in full)
    return UploadOut(id=row.id, offset=num_bytes, size=row.size, part_bytes=step, parts=full)


def owner_of(who: Identity) -> str:
    return f"{who.job_id}:{who.attempt}" if isinstance(who, JobIdentity) else f"user:{who.user_id}"
