"""Blobs on their way in: whose they will be is decided before the bytes come, and written when they are there."""

from __future__ import annotations

from typing import NamedTuple

from danlu.auth.identity import UserIdentity
from danlu.server.scope import project_to_use
from danlu.server.state import ServerState
from danlu.server.trees import service
from danlu.store.objects.base import Writer


class IncomingBlob(NamedTuple):
    digest: str
    project_id: int
    writer: Writer


def begin_blob(state: ServerState, who: UserIdentity, digest: str) -> IncomingBlob:
    project_id = state.database.read(project_to_use, who)
    return IncomingBlob(digest, project_id, state.blobs.put(digest))


def finish_blob(state: ServerState, incoming: IncomingBlob) -> None:
    state.database.write(service.own_blob, state, incoming.project_id, incoming.digest)
