"""Paths that a user or job may use, with their bucket and where the bytes are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Identity
from danlu.errors import Conflict, DanluError, InvalidInput, NotFound
from danlu.server.identity import identity_now
from danlu.server.state import ServerState
from danlu.spec.paths import StorePath, check_bucket, check_key
from danlu.store.queries import buckets
from danlu.store.sql.tables import BucketRow

Check = Callable[[Identity, StorePath, "rights.Bucket | None"], None]


class Located(NamedTuple):
    path: StorePath
    """As users name it."""

    stored: StorePath
    """Where it is in the object store. A later bucket with the same name is stored elsewhere."""

    bucket: rights.Bucket


def readable(session: Session, who: Identity, bucket: str, key: str, *, is_prefix: bool = False) -> Located:
    """The path if it may be read, or listed."""
    return _located(session, who, _path(bucket, key, is_prefix=is_prefix), rights.check_read_object)


def writable(session: Session, who: Identity, bucket: str, key: str, *, is_prefix: bool = False) -> Located:
    return _located(session, who, _path(bucket, key, is_prefix=is_prefix), rights.check_write_object)


def still_writable(session: Session, state: ServerState, who: Identity, where: Located) -> None:
    """Raise DanluError when the right to write was lost, or the bucket was replaced."""
    now = identity_now(session, state, who)
    if writable(session, now, where.path.bucket, where.path.key).bucket.id != where.bucket.id:
        raise Conflict(f"bucket {where.path.bucket!r} was deleted and created again meanwhile; nothing was stored")


def readable_all(session: Session, who: Identity, bucket: str, keys: Sequence[str]) -> list[Located | DanluError]:
    """Each key's path, or why it may not be read."""
    return _each(session, who, bucket, keys, rights.check_read_object)


def writable_all(session: Session, who: Identity, bucket: str, keys: Sequence[str]) -> list[Located | DanluError]:
    """Each key's path, or why it may not be written."""
    return _each(session, who, bucket, keys, rights.check_write_object)


def locate(session: Session, path: StorePath) -> Located | None:
    """The location of a path, without a check of rights; None when there is no such bucket."""
    row = buckets.get_bucket(session, path.bucket)
    return None if row is None else _of(row, path)


def below(where: Located, key: str) -> Located:
    """A path below a folder that was located before."""
    path, stored = (StorePath(one.bucket, f"{one.key}{key}") for one in (where.path, where.stored))
    return where._replace(path=path, stored=stored)


def bucket_named(session: Session, name: str) -> rights.Bucket | None:
    """The bucket that has this name now; None when there is none."""
    row = buckets.get_bucket(session, name)
    return None if row is None else rights.Bucket(row.id, row.project_id)


def _located(session: Session, who: Identity, path: StorePath, check: Check) -> Located:
    found = locate(session, path)
    check(who, path, None if found is None else found.bucket)
    if found is None:  # not reached: the check fails without a bucket, with a better message
        raise NotFound(f"no bucket {path.bucket!r}; `danlu store ls` shows yours")
    return found


def _each(
    session: Session, who: Identity, bucket: str, keys: Sequence[str], check: Check
) -> list[Located | DanluError]:
    row = buckets.get_bucket(session, bucket)
    found: list[Located | DanluError] = []
    for key in keys:
        try:
            path = _path(bucket, key, is_prefix=False)
            check(who, path, None if row is None else rights.Bucket(row.id, row.project_id))
            found.append(_of(row, path) if row is not None else NotFound(f"no bucket {bucket!r}"))
        except DanluError as error:
            found.append(error)
    return found


def _of(row: BucketRow, path: StorePath) -> Located:
    return Located(path, StorePath(buckets.place_of(row), path.key), rights.Bucket(row.id, row.project_id))


def _path(bucket: str, key: str, *, is_prefix: bool) -> StorePath:
    try:
        check_bucket(bucket)
        check_key(key, allow_folder=is_prefix)
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    return StorePath(bucket, key)
