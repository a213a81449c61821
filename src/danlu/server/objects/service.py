"""The rules of buckets and objects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Identity, UserIdentity
from danlu.errors import AlreadyExists, Conflict, NotAllowed, NotFound, RangeNotSatisfiable
from danlu.server.audit.service import record_action
from danlu.server.flow import recording as flow
from danlu.server.invalid import bad_field
from danlu.server.scope import project_to_use, visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.paths import StorePath, check_bucket
from danlu.store.objects.base import Listing, ObjectInfo
from danlu.store.queries import buckets, people, projects
from danlu.store.sql.tables import BucketRow
from danlu.wire.store import BucketOut, ListingOut, MakeBucket, ObjectOut

_RANGE = re.compile(r"bytes=(\d*)-(\d*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ByteRange:
    start: int
    size: int


def list_buckets(session: Session, who: UserIdentity) -> list[BucketOut]:
    names = people.projects_by_id(session)
    rows = buckets.list_buckets(session, visible_project_ids(who))
    return [BucketOut(name=row.name, project=names[row.project_id]) for row in rows]


def make_bucket(session: Session, who: UserIdentity, body: MakeBucket, now: datetime) -> BucketOut:
    name = body.name
    try:
        check_bucket(name)
    except ValueError as error:
        raise bad_field("name", str(error)) from error
    if buckets.get_bucket(session, name) is not None:
        raise AlreadyExists(f"bucket {name!r} exists already; choose another name")
    project_id = project_to_use(session, who, body.project)
    buckets.add_bucket(session, name, project_id=project_id, at=now)
    record_action(session, who, Action.BUCKET_MAKE, f"bucket/{name}", at=now, project_id=project_id)
    return BucketOut(name=name, project=people.project_name(session, project_id))


def move_bucket(session: Session, state: ServerState, who: UserIdentity, name: str, project: str) -> BucketOut:
    """Move a bucket to another project. For owners of both, and for admins."""
    row = _bucket_to_own(session, who, name)
    to = project_to_use(session, who, project)
    if not rights.can_own_project(who, to):
        raise NotAllowed(f"only owners of project {project!r} and admins may move a bucket there")
    writing = projects.open_jobs_writing_to(session, name)
    if writing:
        raise Conflict(f"active jobs write to bucket {name!r}: {', '.join(writing)}; stop them first")
    before = people.project_name(session, row.project_id)
    for project_id in {row.project_id, to}:  # recorded in both projects
        told = {"from_project": before, "to_project": project}
        record_action(session, who, Action.BUCKET_MOVE, f"bucket/{name}", at=state.now(), project_id=project_id, **told)
    buckets.move_bucket(session, name, project_id=to)
    flow.bucket_moved(session, name, to)
    return BucketOut(name=name, project=project)


def bucket_to_delete(session: Session, who: UserIdentity, name: str) -> BucketRow:
    """The bucket, if the user may delete it and no job writes to it. For owners of its project, and for admins."""
    row = _bucket_to_own(session, who, name)
    writing = projects.open_jobs_writing_to(session, name)
    if writing:
        raise Conflict(f"active jobs write to bucket {name!r}: {', '.join(writing)}; stop them first")
    return row


def delete_bucket(session: Session, who: UserIdentity, name: str, *, bucket_id: str, now: datetime) -> None:
    """Delete a bucket that was found empty, unless it was replaced meanwhile."""
    row = bucket_to_delete(session, who, name)
    if row.id != bucket_id:
        raise Conflict(f"bucket {name!r} was created again a moment ago; check it and try again")
    record_action(session, who, Action.BUCKET_DELETE, f"bucket/{name}", at=now, project_id=row.project_id)
    flow.bucket_deleted(session, name, row.id)
    buckets.delete_bucket(session, row, at=now)


def parse_range(header: str | None, size: int) -> ByteRange | None:
    """Parse a Range header; None when there is none, or it has several ranges: the whole object is sent then."""
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
    """The part of a list that they may see."""
    return ListingOut(
        objects=[object_out(info) for info in found.objects if rights.can_see_key(who, StorePath(bucket, info.key))],
        folders=[folder for folder in found.folders if rights.can_see_key(who, StorePath(bucket, folder))],
        next=found.next,
    )


def _bucket_to_own(session: Session, who: UserIdentity, name: str) -> BucketRow:
    row = buckets.get_bucket(session, name)
    if row is None or not rights.can_see_project(who, row.project_id):
        raise NotFound(f"no bucket {name!r}; `danlu store ls` shows yours")
    if not rights.can_own_project(who, row.project_id) or row.project_id in who.archived:
        raise NotAllowed(f"bucket {name!r} is moved and deleted by owners of its project and by admins")
    return row
