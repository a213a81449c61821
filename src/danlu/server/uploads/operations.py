"""Uploads in pieces: rows in transactions of their own, bytes and the object service while none is open."""

from __future__ import annotations

from datetime import timedelta

from danlu.auth.identity import Identity
from danlu.errors import BadChecksum, Conflict, NotFound
from danlu.server.invalid import bad_field
from danlu.server.objects.located import writable
from danlu.server.objects.operations import record_put
from danlu.server.objects.service import object_out
from danlu.server.state import ServerState
from danlu.server.uploads import service
from danlu.server.uploads.service import part_bytes
from danlu.spec.paths import StorePath
from danlu.store.objects import uploads
from danlu.store.sql.tables import UploadRow
from danlu.wire.store import AskGrants, BeginUpload, GrantsOut, ObjectOut, UploadOut

KEPT = timedelta(days=7)
"""How long an unfinished upload can be resumed."""


def begin(state: ServerState, who: Identity, bucket: str, body: BeginUpload) -> UploadOut:
    """Begin an upload, or resume the one of the same bytes. Deletes expired uploads."""
    with state.database.reading() as session:
        where = writable(session, who, bucket, body.key)
        old = uploads.begun_before(session, state.now() - KEPT)
        row = service.same(session, who, where, body)
    for one in old:
        _forget(state, one)
    if row is not None and not _can_go_on(state, row, body):
        _forget(state, row)
        row = None
    if row is None:
        grants = state.objects.grants() if body.direct and body.size > 0 else None
        # requested before the row is written: no transaction waits for the service
        service_id = grants.begin(where.stored, body.sha256) if grants is not None else None
        row = state.database.write(service.add, state, who, where, body, service_id)
        if grants is not None and service_id is not None and row.service_id != service_id:
            grants.abort(where.stored, service_id)
    return upload_out(state, row)


def get(state: ServerState, who: Identity, upload_id: str) -> UploadOut:
    return upload_out(state, state.database.read(service.find, who, upload_id))


def grant(state: ServerState, who: Identity, upload_id: str, body: AskGrants) -> GrantsOut:
    """Presigned URLs, valid for a short time, to send parts directly to the object service."""
    row, where = state.database.read(service.find_writable, who, upload_id)
    grants = state.objects.grants()
    if grants is None or row.service_id is None:
        raise Conflict("the parts of this upload go through the server; send them from its offset")
    last = -(-row.size // part_bytes(row.size))
    for part in body.parts:
        if part.number > last:
            raise bad_field("parts", f"part {part.number} is beyond the last one, {last}")
    return GrantsOut(
        urls=[grants.sign_part(where.stored, row.service_id, number=part.number, md5=part.md5) for part in body.parts]
    )


def find_to_send(state: ServerState, who: Identity, upload_id: str, offset: int) -> UploadRow:
    """The upload, if bytes from `offset` on may be sent now."""
    row = state.database.read(service.find, who, upload_id)
    if row.service_id is not None:
        raise Conflict("the parts of this upload go to the object service; ask for grants")
    arrived = state.uploads.offset(row.id)
    if offset > arrived:
        raise Conflict(f"{arrived} bytes have arrived; continue from there, not from {offset}")
    return row


def commit(state: ServerState, who: Identity, upload_id: str) -> ObjectOut:
    """Create the object from the pieces, if they are complete and what was announced."""
    row, where = state.database.read(service.find_writable, who, upload_id)
    stored = _finish(state, row) if row.service_id is None else _finish_parts(state, row)
    record_put(state, who, where)
    return stored


def abort(state: ServerState, who: Identity, upload_id: str) -> None:
    _forget(state, state.database.read(service.find, who, upload_id))


def upload_out(state: ServerState, row: UploadRow) -> UploadOut:
    grants = state.objects.grants()
    if row.service_id is None or grants is None:
        return UploadOut(id=row.id, offset=min(state.uploads.offset(row.id), row.size), size=row.size)
    parts = grants.parts(_stored(row), row.service_id)
    step = part_bytes(row.size)
    full = [number for number, part in parts.items() if part.size == min(step, row.size - (number - 1) * step)]
    num_bytes = sum(parts[number].size for number in full)
    return UploadOut(id=row.id, offset=num_bytes, size=row.size, part_bytes=step, parts=full)


def _can_go_on(state: ServerState, row: UploadRow, body: BeginUpload) -> bool:
    """Whether an upload can be resumed: the service may have dropped it, or the client may not reach
    the service now."""
    if row.service_id is None:
        return True
    grants = state.objects.grants()
    if grants is None or not body.direct:
        return False
    try:
        grants.parts(_stored(row), row.service_id)
    except NotFound:
        return False
    return True


def _finish(state: ServerState, row: UploadRow) -> ObjectOut:
    arrived = state.uploads.offset(row.id)
    if arrived != row.size:
        raise Conflict(f"{arrived} of {row.size} bytes have arrived; continue from there")
    try:
        info = state.objects.move_in(_stored(row), state.uploads.file(row.id), sha256=row.sha256)
    except BadChecksum:
        _forget(state, row)  # wrong bytes: the next try starts over
        raise
    _forget(state, row)
    return object_out(info)


def _finish_parts(state: ServerState, row: UploadRow) -> ObjectOut:
    """Complete the upload if no part is missing. The service has checked the content of each part."""
    grants, path = state.objects.grants(), _stored(row)
    if grants is None or row.service_id is None:
        raise Conflict("direct transfers were switched off; begin the upload again")
    arrived = grants.parts(path, row.service_id)
    step = part_bytes(row.size)
    wanted = {number: min(step, row.size - begin) for number, begin in enumerate(range(0, row.size, step), start=1)}
    missing = [number for number, size in wanted.items() if number not in arrived or arrived[number].size != size]
    if missing:
        raise Conflict(f"{len(missing)} of {len(wanted)} parts have not arrived, such as part {missing[0]}; send them")
    info = grants.complete(path, row.service_id, parts={number: arrived[number] for number in wanted})
    state.database.write(uploads.delete_upload, row.id)
    return object_out(info)


def _forget(state: ServerState, row: UploadRow) -> None:
    uploads.delete_with_bytes(row, state.database, arrived=state.uploads, objects=state.objects)


def _stored(row: UploadRow) -> StorePath:
    """Where the object is in the object store."""
    return StorePath(row.place or row.bucket, row.key)
