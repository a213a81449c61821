"""Trees and blobs over HTTP: send the tree, send the blobs that are missing, send the tree again."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse

from danlu.server.bodies.receiving import HEADER_BYTES, receive, receive_whole
from danlu.server.identity import CurrentActor, CurrentIdentity
from danlu.server.openapi import BYTES, TAKES_BYTES
from danlu.server.state import State
from danlu.server.trees import operations
from danlu.wire.batches import MAX_BATCH_BYTES, BlobsOut, ReadBlobs
from danlu.wire.store import Tree, TreeOut

router = APIRouter(tags=["trees"])
Project = Annotated[Optional[str], Query(max_length=100)]


@router.post("/trees")
def put_tree(body: Tree, who: CurrentActor, state: State, project: Project = None) -> TreeOut:
    """Store a folder by content in a project, your default one when none is named; or say which files are missing."""
    return operations.put_tree(state, who, body, project=project)


@router.get("/trees/{digest}")
def get_tree(digest: str, who: CurrentIdentity, state: State) -> Tree:
    """The list of files of a tree."""
    return operations.read_tree(state, who, digest)


@router.post("/blobs/batches", openapi_extra=TAKES_BYTES)
async def put_blobs(request: Request, who: CurrentActor, state: State, project: Project = None) -> BlobsOut:
    """Store many small files of trees: a header that names them, and their bytes."""
    body = await receive_whole(request, MAX_BATCH_BYTES + HEADER_BYTES)
    num_stored = await run_in_threadpool(operations.put_blobs, state, who, body, project=project)
    return BlobsOut(num_stored=num_stored)


@router.post("/blobs/reads", response_class=Response, responses=BYTES)
def read_blobs(body: ReadBlobs, who: CurrentIdentity, state: State) -> Response:
    """Fetch many small files of a tree: a header that names them, and their bytes. As many as an answer holds."""
    packed = operations.read_blobs(state, who, body.digests)
    return Response(packed, media_type="application/octet-stream", headers={"X-Content-Type-Options": "nosniff"})


@router.put("/blobs/{digest}", status_code=204, openapi_extra=TAKES_BYTES)
async def put_blob(digest: str, request: Request, who: CurrentActor, state: State, project: Project = None) -> Response:
    """Store a file of a tree; its SHA-256 must be the digest."""
    incoming = await run_in_threadpool(operations.begin_blob, state, who, digest, project=project)
    await receive(request, incoming.writer, digest)
    await run_in_threadpool(operations.finish_blob, state, incoming)
    return Response(status_code=204)


@router.get("/blobs/{digest}", response_class=StreamingResponse, responses=BYTES)
def get_blob(digest: str, who: CurrentIdentity, state: State) -> StreamingResponse:
    """The bytes of a file of a tree."""
    operations.check_readable_blobs(state, who, [digest])
    headers = {"Content-Length": str(state.blobs.size(digest))}
    return StreamingResponse(state.blobs.read(digest), media_type="application/octet-stream", headers=headers)
