"""The rules of buckets and objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Identity, UserIdentity
from danlu.errors import AlreadyExists, Conflict, DanluError, InvalidInput, NotAllowed, NotFound, RangeNotSatisfiable
from danlu.server.audit.service import record_action
from danlu.server.flow import recording as flow
from danlu.server.invalid import bad_field
from danlu.server.scope import project_to_use, visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.paths import StorePath, check_bucket, check_key
from danlu.store.objects.base import Listing, ObjectInfo
from danlu.store.queries import people, projects
from danlu.store.sql.tables import BucketRow
from danlu.wire.store import BucketOut, ListingOut, MakeBucket, ObjectOut

_RANGE = re.compile(r"bytes=(\d*)-(\d*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ByteRange:
    start: int
    size: int


def list_buckets(session: Session, who: UserIdentity) -> list[BucketOut]:
    names = people.projects_by_id(session)
    rows = people.list_buckets(session, visible_project_ids(who))
    return [BucketOut(name=row.name, project=names[row.project_id]) for row in rows]


def make_bucket(session: Session, who: UserIdentity, body: MakeBucket, now: datetime) -> BucketOut:
    name = body.name
    try:
        check_bucket(name)
    except ValueError as error:
        raise bad_field("name", str(error)) from error
    if people.get_bucket(session, name) is not None:
        raise AlreadyExists(f"bucket {name!r} exists already; choose another name")
    project_id = project_to_use(session, who, body.project)
    people.add_bucket(session, name, project_id, now)
    record_action(session, who, Action.BUCKET_MAKE, f"bucket/{name}", at=now, project_id=project_id)
    return BucketOut(name=name, project=people.projects_by_id(session)[project_id])


def move_bucket(session: Session, state: ServerState, who: UserIdentity, name: str, project: str) -> BucketOut:
    """Give a bucket to another project. For owners of both, and for admins."""
    row = _bucket_to_own(session, who, name)
    to = project_to_use(session, who, project)
    if not rights.can_own_project(who, to):
        raise NotAllowed(f"a bucket is taken in by owners of project {project!r} and by admins")
    writing = projects.open_jobs_writing_to(session, name)
    if writing:
        raise Conflict(f"jobs that wait or run write to bucket {name!r}: {', '.join(writing)}; stop them first")
    before = people.projects_by_id(session)[row.project_id]
    for project_id in {row.project_id, to}:  # both projects have it in their story
        told = {"from_project": before, "to_project": project}
        record_action(session, who, Action.BUCKET_MOVE, f"bucket/{name}", at=state.now(), project_id=project_id, **told)
    projects.move_bucket(session, name, to)
    flow.bucket_moved(session, name, to)
    return BucketOut(name=name, project=project)


def delete_bucket(session: Session, state: ServerState, who: UserIdentity, name: str) -> None:
    """Delete a bucket that nothing is in. For owners of its project, and for admins."""
    row = _bucket_to_own(session, who, name)
    if state.objects.list(name, prefix="", delimiter="", after="", limit=1).objects:
        raise Conflict(f"bucket {name!r} is not empty; what is in it: danlu store ls store://{name}/")
    writing = projects.open_jobs_writing_to(session, name)
    if writing:
        raise Conflict(f"jobs that wait or run write to bucket {name!r}: {', '.join(writing)}; stop them first")
    record_action(session, who, Action.BUCKET_DELETE, f"bucket/{name}", at=state.now(), project_id=row.project_id)
    projects.delete_bucket(session, name)


def readable(session: Session, who: Identity, bucket: str, key: str, *, is_prefix: bool = False) -> StorePath:
    """Return the path if it may be read, or listed."""
    path = _path(bucket, key, is_prefix=is_prefix)
    rights.check_read_object(who, path, project_of(session, bucket))
    return path


def writable(session: Session, who: Identity, bucket: str, key: str, *, is_prefix: bool = False) -> StorePath:
    path = _path(bucket, key, is_prefix=is_prefix)
    rights.check_write_object(who, path, project_of(session, bucket))
    return path


def writable_all(session: Session, who: Identity, bucket: str, keys: Sequence[str]) -> list[StorePath | DanluError]:
    """The path of each key, or why it may not be written."""
    project_id = project_of(session, bucket)
    return [_checked(who, bucket, key, project_id, rights.check_write_object) for key in keys]


def readable_all(session: Session, who: Identity, bucket: str, keys: Sequence[str]) -> list[StorePath | DanluError]:
    """The path of each key, or why it may not be read."""
    project_id = project_of(session, bucket)
    return [_checked(who, bucket, key, project_id, rights.check_read_object) for key in keys]


def _checked(
    who: Identity,
    bucket: str,
    key: str,
    project_id: int | None,
    check: Callable[[Identity, StorePath, int | None], None],
) -> StorePath | DanluError:
    try:
        path = _path(bucket, key, is_prefix=False)
        check(who, path, project_id)
    except DanluError as error:
        return error
    return path


def parse_range(header: str | None, size: int) -> ByteRange | None:
    """Read a Range header; None when there is none, or one of several parts, which is answered in full."""
    found = _RANGE.fullmatch(header.strip()) if header else None
    if found is None or found.group(0) == "bytes=-":
        return None
    first, last = found.groups()
    if len(first) > 18 or len(last) > 18:
        raise RangeNotSatisfiable(f"range {header} is beyond the object's {size} bytes")
    start = int(first) if first else max(size - int(last), 0)
    end = min(int(last), size - 1) if first and last else size - 1
    if start >= size or end < start:
        raise RangeNotSatisfiable(f"range {header} is beyond the object's {size} bytes")
    return ByteRange(start, end - start + 1)


def object_out(info: ObjectInfo) -> ObjectOut:
    return ObjectOut(key=info.key, size=info.size, modified_at=info.modified_at, sha256=info.sha256)


def listing_out(who: Identity, bucket: str, found: Listing) -> ListingOut:
    """What is for them of a list."""
    return ListingOut(
        objects=[object_out(info) for info in found.objects if rights.can_see_key(who, StorePath(bucket, info.key))],
        folders=[folder for folder in found.folders if rights.can_see_key(who, StorePath(bucket, folder))],
        next=found.next,
    )


def _bucket_to_own(session: Session, who: UserIdentity, name: str) -> BucketRow:
    row = people.get_bucket(session, name)
    if row is None or not rights.can_see_project(who, row.project_id):
        raise NotFound(f"no bucket {name!r}; `danlu store ls` shows yours")
    if not rights.can_own_project(who, row.project_id) or row.project_id in who.archived:
        raise NotAllowed(f"bucket {name!r} is moved and deleted by owners of its project and by admins")
    return row


def _path(bucket: str, key: str, *, is_prefix: bool) -> StorePath:
    try:
        check_bucket(bucket)
        check_key(key, allow_folder=is_prefix)
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    return StorePath(bucket, key)


def project_of(session: Session, bucket: str) -> int | None:
    """The project of a bucket; None when there is no such bucket."""
    row = people.get_bucket(session, bucket)
    return row.project_id if row is not None else None
