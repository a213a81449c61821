"""Putting and deleting objects: rights are checked, bytes move while no transaction is open, the change is recorded."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy.orm import Session

from danlu.auth.identity import Identity, JobIdentity, UserIdentity
from danlu.server.audit.service import Repeated, record_repeated_action
from danlu.server.flow import operations as flow
from danlu.server.flow.recording import objects_put
from danlu.server.objects import service
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.paths import StorePath
from danlu.store.objects.base import Writer


class Incoming(NamedTuple):
    """An object on its way in."""

    path: StorePath
    writer: Writer


def begin_put(state: ServerState, who: Identity, bucket: str, key: str, sha256: str | None) -> Incoming:
    path = state.database.read(service.writable, who, bucket, key)
    return Incoming(path, state.objects.put(path, sha256))


def delete(state: ServerState, who: UserIdentity, bucket: str, key: str) -> int:
    """Delete one object; return how many that were."""
    path = state.database.read(service.writable, who, bucket, key)
    num_deleted = int(state.objects.delete(path))
    record_delete(state, who, path)
    return num_deleted


def delete_below(state: ServerState, who: UserIdentity, bucket: str, prefix: str) -> int:
    """Delete all objects whose keys begin so; return how many."""
    path = state.database.read(service.writable, who, bucket, prefix, is_prefix=True)
    num_deleted = state.objects.delete_below(path)
    record_delete(state, who, path)
    return num_deleted


def record_put(state: ServerState, who: Identity, path: StorePath, *, count: int = 1) -> None:
    """Record that objects were put. A job's own output is recorded once, with the job, not file by file."""
    if isinstance(who, JobIdentity):
        flow.record_output(state, who)
        return
    with state.database.writing() as session:
        _record(session, state, who, Action.OBJECT_PUT, path, count)
        objects_put(session, path)


def record_delete(state: ServerState, who: UserIdentity, path: StorePath) -> None:
    with state.database.writing() as session:
        _record(session, state, who, Action.OBJECT_DELETE, path)
    flow.bury_emptied(state, path)


def _record(
    session: Session, state: ServerState, who: UserIdentity, action: Action, path: StorePath, count: int = 1
) -> None:
    place, project_id = f"bucket/{path.bucket}", service.project_of(session, path.bucket)
    changed = Repeated(place, project_id, first=path.key, count=count)
    record_repeated_action(session, who, action, changed, at=state.now())
