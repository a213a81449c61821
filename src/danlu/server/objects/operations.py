"""Putting and deleting objects: rights are checked, bytes move while no transaction is open, the change is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Identity, JobIdentity, UserIdentity
from danlu.errors import Conflict, NotFound
from danlu.server.audit.service import Repeated, record_repeated_action
from danlu.server.flow import operations as flow
from danlu.server.flow.recording import objects_put
from danlu.server.objects import service
from danlu.server.objects.located import Located, readable, still_writable, writable
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.store.objects.base import Bytes, Listing, ObjectInfo, Writer
from danlu.store.queries import buckets
from danlu.wire.store import ListingOut


class Incoming(NamedTuple):
    """An upload in progress."""

    where: Located
    writer: Writer


class CheckedWriter(Writer):
    """Checks before it commits that the sender may still write there: an upload may take hours."""

    def __init__(self, inner: Writer, check: Callable[[], None]) -> None:
        self._inner, self._check = inner, check

    def write(self, data: Bytes) -> None:
        self._inner.write(data)

    def commit(self, sha256: str | None = None) -> ObjectInfo:
        self._check()
        return self._inner.commit(sha256)

    def abort(self) -> None:
        self._inner.abort()


def begin_put(state: ServerState, who: Identity, bucket: str, key: str, *, sha256: str | None) -> Incoming:
    where = state.database.read(writable, who, bucket, key)

    def check() -> None:
        state.database.read(still_writable, state, who, where)

    return Incoming(where, CheckedWriter(state.objects.put(where.stored, sha256), check))


def list_objects(
    state: ServerState, who: Identity, bucket: str, prefix: str, *, delimiter: str, after: str, limit: int
) -> ListingOut:
    where = state.database.read(readable, who, bucket, prefix, is_prefix=True)
    page = _Page(delimiter, after, limit)
    is_input = rights.is_input(who, where.path, where.bucket)
    if is_input and prefix and not prefix.endswith("/"):
        found = _file_or_folder(state, where, page)
    else:
        found = _list(state, where, where.stored.key, page)
    return service.listing_out(who if is_input else rights.reader_of(who) or who, bucket, found)


def delete(state: ServerState, who: UserIdentity, bucket: str, key: str) -> int:
    """Delete one object; return the number deleted."""
    where = state.database.read(writable, who, bucket, key)
    num_deleted = int(state.objects.delete(where.stored))
    record_delete(state, who, where)
    return num_deleted


def delete_below(state: ServerState, who: UserIdentity, bucket: str, prefix: str) -> int:
    """Delete all objects with this prefix; return the number deleted."""
    where = state.database.read(writable, who, bucket, prefix, is_prefix=True)
    num_deleted = state.objects.delete_below(where.stored)
    record_delete(state, who, where)
    return num_deleted


def delete_bucket(state: ServerState, who: UserIdentity, name: str) -> None:
    """Delete an empty bucket. An object that is stored at the same moment belongs to no bucket then."""
    row = state.database.read(service.bucket_to_delete, who, name)
    if state.objects.list(buckets.place_of(row), prefix="", delimiter="", after="", limit=1).objects:
        raise Conflict(f"bucket {name!r} is not empty; list its objects: danlu store ls store://{name}/")
    state.database.write(service.delete_bucket, who, name, bucket_id=row.id, now=state.now())


def record_put(state: ServerState, who: Identity, where: Located, *, count: int = 1) -> None:
    """Record that objects were put. A job's own output is recorded once, with the job, not file by file."""
    if isinstance(who, JobIdentity) and rights.is_output(who, where.path, where.bucket):
        flow.record_output(state, who)
        return
    with state.database.writing() as session:
        _record(session, state, rights.actor_of(who) or who, Action.OBJECT_PUT, where, count)
        objects_put(session, where.path)


def record_delete(state: ServerState, who: UserIdentity, where: Located) -> None:
    with state.database.writing() as session:
        _record(session, state, who, Action.OBJECT_DELETE, where)
    flow.bury_emptied(state, where.path)


def _record(
    session: Session, state: ServerState, who: Identity, action: Action, where: Located, count: int = 1
) -> None:
    place, project_id = f"bucket/{where.path.bucket}", where.bucket.project_id
    changed = Repeated(place, project_id, first=where.path.key, count=count)
    record_repeated_action(session, who, action, changed, at=state.now())


class _Page(NamedTuple):
    delimiter: str
    after: str
    limit: int


def _list(state: ServerState, where: Located, prefix: str, page: _Page) -> Listing:
    return state.objects.list(
        where.stored.bucket, prefix=prefix, delimiter=page.delimiter, after=page.after, limit=page.limit
    )


def _file_or_folder(state: ServerState, where: Located, page: _Page) -> Listing:
    """The object with this key, and those below it. A list by prefix would reveal the names of objects next to a job's
    inputs, at least in the cursor."""
    key = where.stored.key
    one = [] if page.after >= key else _object(state, where)
    if len(one) >= page.limit:
        return Listing(one, [], next=key)
    if page.delimiter == "/":
        is_folder = bool(_list(state, where, f"{key}/", _Page("", page.after, 1)).objects)
        return Listing(one, [f"{key}/"] if is_folder and page.after < f"{key}/" else [], next=None)
    below = _list(state, where, f"{key}/", page._replace(limit=page.limit - len(one)))
    return Listing([*one, *below.objects], below.folders, below.next)


def _object(state: ServerState, where: Located) -> list[ObjectInfo]:
    try:
        return [state.objects.stat(where.stored)]
    except NotFound:
        return []
