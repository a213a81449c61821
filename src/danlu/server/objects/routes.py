"""Buckets and objects over HTTP."""

from __future__ import annotations

from email.utils import format_datetime
from typing import Annotated, Optional

from fastapi import APIRouter, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from danlu.errors import RangeNotSatisfiable
from danlu.server.bodies.receiving import receive
from danlu.server.identity import CurrentActor, CurrentIdentity, CurrentReader, CurrentUser
from danlu.server.invalid import bad_field
from danlu.server.objects import operations, service
from danlu.server.objects.located import readable
from danlu.server.openapi import BYTES, PARTS, TAKES_BYTES
from danlu.server.paging import Cursor, Limit
from danlu.server.state import State
from danlu.store.objects.base import ObjectInfo
from danlu.wire.base import Page
from danlu.wire.store import BucketOut, DeletedOut, ListingOut, MakeBucket, MoveBucket, ObjectOut

router = APIRouter(prefix="/buckets", tags=["store"])
Prefix = Annotated[str, Query(max_length=1000)]
DIRECT_HEADER = "X-Danlu-Direct"
SHA256_HEADER = "X-Danlu-SHA256"
Sha256 = Annotated[Optional[str], Header(alias=SHA256_HEADER, pattern=r"^[0-9a-fA-F]{64}$")]


@router.get("")
def list_buckets(who: CurrentReader, state: State) -> Page[BucketOut]:
    """Buckets of your projects, by name."""
    return Page(items=state.database.read(service.list_buckets, who))


@router.post("", status_code=201)
def make_bucket(body: MakeBucket, who: CurrentActor, state: State) -> BucketOut:
    """Create a bucket in a project."""
    return state.database.write(service.make_bucket, who, body, state.now())


@router.patch("/{bucket}")
def move_bucket(bucket: str, body: MoveBucket, who: CurrentUser, state: State) -> BucketOut:
    """Move a bucket to another project."""
    return state.database.write(service.move_bucket, state, who, bucket, body.project)


@router.delete("/{bucket}", status_code=204)
def delete_bucket(bucket: str, who: CurrentUser, state: State) -> Response:
    """Delete an empty bucket."""
    operations.delete_bucket(state, who, bucket)
    return Response(status_code=204)


@router.get("/{bucket}/objects")
def list_objects(
    bucket: str,
    who: CurrentIdentity,
    state: State,
    prefix: Prefix = "",
    delimiter: Annotated[str, Query(max_length=1)] = "",
    cursor: Cursor = None,
    limit: Limit = 1000,
) -> ListingOut:
    """Objects of a bucket by key; with `delimiter`, also the folders below the prefix."""
    return operations.list_objects(state, who, bucket, prefix, delimiter=delimiter, after=cursor or "", limit=limit)


@router.delete("/{bucket}/objects")
def delete_below(bucket: str, who: CurrentActor, state: State, prefix: Prefix) -> DeletedOut:
    """Delete all objects whose keys begin with the prefix."""
    if not prefix.strip("/"):
        raise bad_field("prefix", "it is empty; name what is to be deleted")
    return DeletedOut(num_objects=operations.delete_below(state, who, bucket, prefix))


@router.put("/{bucket}/objects/{key:path}", openapi_extra=TAKES_BYTES)
async def put(
    bucket: str, key: str, request: Request, who: CurrentIdentity, state: State, sha256: Sha256 = None
) -> ObjectOut:
    """Store an object. It appears completely, or not at all."""
    incoming = await run_in_threadpool(operations.begin_put, state, who, bucket, key, sha256=sha256)
    stored = await receive(request, incoming.writer, sha256)
    await run_in_threadpool(operations.record_put, state, who, incoming.where)
    return service.object_out(stored)


@router.get("/{bucket}/objects/{key:path}", response_class=StreamingResponse, responses=PARTS)
def get(bucket: str, key: str, request: Request, who: CurrentIdentity, state: State) -> Response:
    """Answer with the bytes; or, if `X-Danlu-Direct` is sent and the server lets clients, with where they are."""
    stored = state.database.read(readable, who, bucket, key).stored
    grants = state.objects.grants() if request.headers.get(DIRECT_HEADER) else None
    if grants is not None:  # where there is no such object, the service says so
        return RedirectResponse(grants.sign_get(stored), status_code=307, headers={"Cache-Control": "no-store"})
    ranged = request.headers.get("Range")
    found = state.objects.open(stored, is_range=ranged is not None)
    headers = _headers(found.info)
    try:
        wanted = service.parse_range(ranged, found.info.size)
    except RangeNotSatisfiable:
        found.close()
        raise
    if wanted is None:
        return StreamingResponse(found.pieces(), media_type="application/octet-stream", headers=headers)
    headers["Content-Range"] = f"bytes {wanted.start}-{wanted.start + wanted.size - 1}/{found.info.size}"
    headers["Content-Length"] = str(wanted.size)
    body = found.pieces(wanted.start, wanted.size)
    return StreamingResponse(body, status_code=206, media_type="application/octet-stream", headers=headers)


@router.head("/{bucket}/objects/{key:path}", response_class=Response, responses=BYTES)
def head(bucket: str, key: str, who: CurrentIdentity, state: State) -> Response:
    """Size, time and SHA-256 of an object."""
    info = state.objects.stat(state.database.read(readable, who, bucket, key).stored)
    return Response(media_type="application/octet-stream", headers=_headers(info))


@router.delete("/{bucket}/objects/{key:path}")
def delete(bucket: str, key: str, who: CurrentActor, state: State) -> DeletedOut:
    """Delete an object."""
    return DeletedOut(num_objects=operations.delete(state, who, bucket, key))


def _headers(info: ObjectInfo) -> dict[str, str]:
    headers = {
        "Content-Length": str(info.size),
        "Accept-Ranges": "bytes",
        "ETag": f'"{info.version}"',
        "Last-Modified": format_datetime(info.modified_at, usegmt=True),
        # user content must not run in the console's origin
        "Content-Security-Policy": "sandbox",
        "X-Content-Type-Options": "nosniff",
    }
    return headers | ({SHA256_HEADER: info.sha256} if info.sha256 else {})
