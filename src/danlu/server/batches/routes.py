"""Many small files in one request, over HTTP."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from danlu.server.batches import operations
from danlu.server.bodies.receiving import HEADER_BYTES, receive_whole
from danlu.server.identity import CurrentIdentity
from danlu.server.openapi import BYTES, TAKES_BYTES
from danlu.server.state import State
from danlu.wire.batches import MAX_BATCH_BYTES, BatchOut, ReadBatch

router = APIRouter(prefix="/buckets", tags=["store"])


@router.post("/{bucket}/batches", openapi_extra=TAKES_BYTES)
async def put_batch(bucket: str, request: Request, who: CurrentIdentity, state: State) -> BatchOut:
    """Store many small files. Each is stored whole or refused by itself."""
    body = await receive_whole(request, MAX_BATCH_BYTES + HEADER_BYTES)
    return await run_in_threadpool(operations.put_batch, state, who, bucket, body)


@router.post("/{bucket}/reads", response_class=Response, responses=BYTES)
def read_batch(bucket: str, body: ReadBatch, who: CurrentIdentity, state: State) -> Response:
    """Fetch many small objects: a header, and their bytes. Large ones are left out."""
    packed = operations.read_batch(state, who, bucket, body.keys)
    return Response(packed, media_type="application/octet-stream", headers={"X-Content-Type-Options": "nosniff"})
