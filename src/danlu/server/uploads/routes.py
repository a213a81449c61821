"""Uploads in pieces over HTTP: begin, send from the offset that is told, commit. Broken off, begin again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from danlu.errors import TooLarge
from danlu.server.identity import CurrentIdentity
from danlu.server.openapi import TAKES_BYTES
from danlu.server.state import State
from danlu.server.uploads import operations
from danlu.store.objects.base import CHUNK_BYTES
from danlu.wire.store import AskGrants, BeginUpload, GrantsOut, ObjectOut, UploadOut

router = APIRouter(tags=["store"])


@router.post("/buckets/{bucket}/uploads", status_code=201)
def begin(bucket: str, body: BeginUpload, who: CurrentIdentity, state: State) -> UploadOut:
    """Begin the upload of a large object in pieces."""
    return operations.begin(state, who, bucket, body)


@router.get("/uploads/{upload}")
def get(upload: str, who: CurrentIdentity, state: State) -> UploadOut:
    """How much of an upload has arrived."""
    return operations.get(state, who, upload)


@router.put("/uploads/{upload}", openapi_extra=TAKES_BYTES)
async def send(
    upload: str, request: Request, who: CurrentIdentity, state: State, offset: Annotated[int, Query(ge=0, le=2**50)]
) -> UploadOut:
    """Take bytes from `offset`, which is at most what has arrived. What arrives before a connection breaks is kept."""
    row = await run_in_threadpool(operations.find_to_send, state, who, upload, offset)
    pending = bytearray()
    async for piece in request.stream():
        pending += piece
        if offset + len(pending) > row.size:
            raise TooLarge(f"more than the announced {row.size} bytes arrived")
        if len(pending) >= CHUNK_BYTES:
            await run_in_threadpool(state.uploads.append, row.id, offset, bytes(pending))
            offset += len(pending)
            pending.clear()
    if pending:
        await run_in_threadpool(state.uploads.append, row.id, offset, bytes(pending))
    return await run_in_threadpool(operations.upload_out, state, row)


@router.post("/uploads/{upload}/grants")
def grant(upload: str, body: AskGrants, who: CurrentIdentity, state: State) -> GrantsOut:
    """Presigned URLs, valid for a short time, to send parts directly to the object service."""
    return operations.grant(state, who, upload, body)


@router.post("/uploads/{upload}/commit")
def commit(upload: str, who: CurrentIdentity, state: State) -> ObjectOut:
    """Make an object of the pieces, if all have arrived with the announced SHA-256."""
    return operations.commit(state, who, upload)


@router.delete("/uploads/{upload}", status_code=204)
def abort(upload: str, who: CurrentIdentity, state: State) -> Response:
    """Cancel an upload and delete its pieces."""
    operations.abort(state, who, upload)
    return Response(status_code=204)
