"""Artifacts over HTTP: look, change, delete, read; and how they are uploaded."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from danlu.content.manifest import MAX_BYTES
from danlu.server.artifacts import operations, service, uploads
from danlu.server.artifacts.view import artifacts_out, version_out
from danlu.server.bodies.receiving import HEADER_BYTES, receive_whole
from danlu.server.identity import CurrentActor, CurrentIdentity, CurrentReader
from danlu.server.openapi import BYTES, TAKES_BYTES
from danlu.server.paging import Cursor, Limit, number_in
from danlu.server.state import State
from danlu.wire.artifacts import (
    MAX_PACK_BYTES,
    ArtifactOut,
    ArtifactUploadOut,
    AskChunks,
    BeginArtifact,
    ChangeArtifact,
    ChangeVersion,
    DeletedArtifact,
    LackingOut,
    LinkRun,
    TakenOut,
    VersionOut,
)
from danlu.wire.base import Page

router = APIRouter(prefix="/artifacts", tags=["artifacts"])
Project = Annotated[Optional[str], Query(max_length=100)]
Name = Annotated[str, Query(min_length=1, max_length=200)]


@router.get("")
def list_artifacts(
    who: CurrentReader,
    state: State,
    cursor: Cursor = None,
    limit: Limit = 100,
    prefix: Annotated[str, Query(max_length=200)] = "",
    label: Annotated[Optional[str], Query(max_length=200)] = None,
    project: Project = None,
) -> Page[ArtifactOut]:
    """Newest first, each with its newest version. `prefix` is the beginning of a name, such as `vision/`."""
    wanted = service.Wanted(project=project, prefix=prefix, label=label)
    return state.database.read(service.list_artifacts, who, wanted, before=number_in(cursor), limit=limit)


@router.get("/named")
def get_named(
    who: CurrentIdentity,
    state: State,
    ref: Annotated[str, Query(min_length=1, max_length=300)],
    project: Project = None,
) -> VersionOut:
    """The version of a name, such as `mnist-model:3`, `mnist-model:latest` or `mnist-model:best`, or of an id.

    The beginning of an id is enough where it is the only one. A job finds what its `data` names, and what it made
    itself.
    """
    with state.database.reading() as session:
        return version_out(session, service.find_readable(session, who, ref, project))


@router.patch("/named")
def change_named(
    name: Name, body: ChangeArtifact, who: CurrentActor, state: State, project: Project = None
) -> ArtifactOut:
    """Label or describe an artifact: all of its versions."""
    with state.database.writing() as session:
        return artifacts_out(session, [service.change_artifact(session, state, who, name, project, body)])[0]


@router.delete("/named")
def delete_named(name: Name, who: CurrentActor, state: State, project: Project = None) -> DeletedArtifact:
    """Delete an artifact with all its versions. Their places in the data flow stay."""
    return DeletedArtifact(num_versions=operations.delete_artifact(state, who, name, project))


@router.get("/versions")
def list_versions(
    name: Name, who: CurrentReader, state: State, project: Project = None, cursor: Cursor = None, limit: Limit = 100
) -> Page[VersionOut]:
    """The versions of an artifact, newest first."""
    return state.database.read(service.list_versions, who, name, project, before=number_in(cursor), limit=limit)


@router.get("/versions/{version}")
def get(version: str, who: CurrentIdentity, state: State) -> VersionOut:
    """A version by its id."""
    with state.database.reading() as session:
        return version_out(session, service.find(session, who, version))


@router.patch("/versions/{version}")
def change(version: str, body: ChangeVersion, who: CurrentActor, state: State) -> VersionOut:
    """Label or describe a version, or give it aliases; an alias leaves the version that had it."""
    with state.database.writing() as session:
        return version_out(session, service.change_version(session, state, who, version, body))


@router.delete("/versions/{version}", status_code=204)
def delete(version: str, who: CurrentActor, state: State) -> Response:
    """Delete a version. Its number is not given again, and its place in the data flow stays."""
    operations.delete_version(state, who, version)
    return Response(status_code=204)


@router.get("/versions/{version}/manifest", response_class=Response, responses=BYTES)
def manifest(version: str, who: CurrentIdentity, state: State) -> Response:
    """What is in a version: JSON whose SHA-256 is the version's `manifest`."""
    return _bytes(operations.manifest_of(state, who, version))


@router.post("/versions/{version}/chunks", response_class=Response, responses=BYTES)
def read_chunks(version: str, body: AskChunks, who: CurrentIdentity, state: State) -> Response:
    """Fetch chunks: a header that names them, and their bytes. As many of the requested ones as a response holds."""
    return _bytes(operations.read_chunks(state, who, version, body.digests))


@router.post("/versions/{version}/links")
def link(version: str, body: LinkRun, who: CurrentIdentity, state: State) -> VersionOut:
    """Record in the data flow that a run has read or created a version."""
    with state.database.writing() as session:
        return version_out(session, service.link(session, state, who, version, body))


@router.post("/uploads", status_code=201)
def begin(body: BeginArtifact, who: CurrentIdentity, state: State) -> ArtifactUploadOut:
    """Begin an upload. The same id again resumes it, or answers with the finished version."""
    return state.database.write(uploads.begin, state, who, body)


@router.post("/uploads/{artifact}/lacking")
def lacking(artifact: str, body: AskChunks, who: CurrentIdentity, state: State) -> LackingOut:
    """Which chunks are missing."""
    return state.database.write(uploads.lacking, state, who, artifact, body.digests)


@router.post("/uploads/{artifact}/chunks", openapi_extra=TAKES_BYTES)
async def take(artifact: str, request: Request, who: CurrentIdentity, state: State) -> TakenOut:
    """Take chunks: a header that names them, and their bytes."""
    body = await receive_whole(request, MAX_PACK_BYTES + HEADER_BYTES)
    return TakenOut(num_stored=await run_in_threadpool(operations.take_chunks, state, who, artifact, body))


@router.post("/uploads/{artifact}/commit", openapi_extra=TAKES_BYTES)
async def commit(artifact: str, request: Request, who: CurrentIdentity, state: State) -> VersionOut:
    """Create a version from what was sent: `{"manifest": {...}, "labels": [...], "description": "..."}`."""
    body = await receive_whole(request, MAX_BYTES + HEADER_BYTES)
    return await run_in_threadpool(operations.commit, state, who, artifact, bytes(body))


def _bytes(data: bytes) -> Response:
    return Response(data, media_type="application/octet-stream", headers={"X-Content-Type-Options": "nosniff"})
