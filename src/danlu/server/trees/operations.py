"""Blobs on their way in: whose they will be is decided before the bytes come, and written when they are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from danlu.auth.identity import Identity, UserIdentity
from danlu.content.packs import SMALL_BYTES, pack
from danlu.errors import NotFound
from danlu.server.packs import read_pack
from danlu.server.scope import project_to_use
from danlu.server.state import ServerState
from danlu.server.trees import service
from danlu.store.objects import blobs
from danlu.store.objects.base import Writer
from danlu.wire.batches import MAX_BATCH_BYTES

NUM_READ = 64
"""How many files are read before it is looked whether the answer is full."""


class IncomingBlob(NamedTuple):
    digest: str
    project_id: int
    writer: Writer


def begin_blob(state: ServerState, who: UserIdentity, digest: str) -> IncomingBlob:
    project_id = state.database.read(project_to_use, who)
    return IncomingBlob(digest, project_id, state.blobs.put(digest))


def finish_blob(state: ServerState, incoming: IncomingBlob) -> None:
    state.database.write(service.own_blob, state, incoming.project_id, incoming.digest)


def put_blobs(state: ServerState, who: UserIdentity, body: bytes | bytearray) -> int:
    """Store small files of trees, each by its digest, which is checked. Return how many."""
    files = read_pack(body, min_bytes=0, max_bytes=SMALL_BYTES, max_pack_bytes=MAX_BATCH_BYTES)
    with state.database.writing() as session:
        project_id = project_to_use(session, who)
        blobs.expect(session, project_id, files, state.now())
    problems = state.blobs.put_many(list(files.items()))
    with state.database.writing() as session:
        for digest, problem in zip(files, problems, strict=True):
            if problem is None:
                blobs.own(session, project_id, digest, state.now())
    for problem in problems:
        if problem is not None:
            raise problem
    return len(files)


def read_blobs(state: ServerState, who: Identity, digests: Sequence[str]) -> bytes:
    """A pack of small files: as many of them, from the first on, as a batch holds."""
    state.database.read(service.check_readable_blobs, state, who, digests)
    found: dict[str, bytes] = {}
    total = 0
    for first in range(0, len(digests), NUM_READ):
        wanted = digests[first : first + NUM_READ]
        for digest, data in zip(wanted, state.blobs.read_many(wanted, SMALL_BYTES), strict=True):
            if data is None:
                raise NotFound(f"no blob {digest} of up to {SMALL_BYTES} bytes")
            found[digest] = data
            total += len(data)
        if total > MAX_BATCH_BYTES // 2:
            break
    return pack([{"sha256": digest, "size": len(data)} for digest, data in found.items()], found.values())
