"""Content-addressed bytes and trees. Equal bytes are stored once; the database says which projects may use them.

What arrives alone is an object of its own, what arrives together shares one (`packed.py`).

A row means that the bytes are stored, unless its `num_refs` is COMING (they are being written) or GOING (they are being
removed). Bytes are removed only while all of their rows are GOING, and a writer sets COMING first: so neither removes
what the other relies on. Only the removal itself calls the store within a transaction.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, cast

from sqlalchemy import Insert, Table, case, func, select, update
from sqlalchemy.orm import Session

from danlu.errors import BadChecksum, InvalidInput, NotFound, Unavailable
from danlu.spec.paths import StorePath
from danlu.store.objects.base import NUM_AT_A_TIME, Bytes, Objects, Writer
from danlu.store.objects.packed import Pack, Place, Run, places_of, runs_of
from danlu.store.sql.database import Database
from danlu.store.sql.rights_tables import TreeRow
from danlu.store.sql.tables import BlobOwnerRow
from danlu.store.sql.upsert import insert_into

BUCKET = "blobs"
PACKS = "packs/"
BLOBS = cast(Table, BlobOwnerRow.__table__)
TOUCH = timedelta(days=1)
"""Precision of the time of last use."""

COMING, GOING = -2, -1
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Blobs:
    def __init__(self, objects: Objects, database: Database) -> None:
        self._objects = objects
        self._database = database

    def put(self, digest: str) -> Writer:
        """Begin an upload; pass the digest to `commit`."""
        return self._objects.put(_path(digest))

    def put_bytes(self, digest: str, data: bytes) -> None:
        writer = self.put(digest)
        writer.write(data)
        writer.commit(digest)

    def put_pack(self, pack: Pack) -> None:
        """Store many at once, all or none. Raise BadChecksum unless all digests are right.

        The digests are made while the bytes are written: nobody finds them before the database says where they are.
        """
        with ThreadPoolExecutor(1) as pool:
            checking = pool.submit(pack.check)
            self._objects.put_whole(_pack_path(pack.id), pack.data)
        try:
            checking.result()
        except BadChecksum:
            self.delete_pack(pack.id)
            raise

    def delete_pack(self, pack_id: str) -> None:
        self._objects.delete(_pack_path(pack_id))

    def read_many(self, digests: Sequence[str], max_bytes: int) -> list[Bytes | None]:
        """Read several in parallel; None for a missing or larger one."""
        places = self._places(digests)
        found: dict[str, Bytes] = {}
        runs = runs_of({digest: place for digest, place in places.items() if place.size <= max_bytes})
        with ThreadPoolExecutor(NUM_AT_A_TIME) as pool:
            for part in pool.map(self._read_run, runs):
                found.update(part)
        alone = [digest for digest in digests if digest not in places]
        for digest, one in zip(
            alone, self._objects.read_many([_path(digest) for digest in alone], max_bytes), strict=True
        ):
            if one is not None and one[1] is not None:
                found[digest] = one[1]
        return [found.get(digest) for digest in digests]

    def read(self, digest: str, session: Session | None = None) -> Iterator[bytes]:
        """Yield the bytes in pieces. Raise NotFound at the call.

        `session`: the one that the caller has open, if any. Who waits for a second one while others wait for the first
        stops them all.
        """
        place = self._places([digest], session).get(digest)
        if place is None:
            return self._objects.read(_path(digest))
        return self._objects.open(_pack_path(place.pack), is_range=True).pieces(place.start, place.size)

    def read_checked(self, digest: str) -> Iterator[bytes]:
        """As `read`. Raise Unavailable after the last piece if these are not the bytes of the digest."""
        found = hashlib.sha256()
        for piece in self.read(digest):
            found.update(piece)
            yield piece
        if found.hexdigest() != digest:
            raise Unavailable(f"the stored bytes of {digest} are damaged; report it to an admin")

    def size(self, digest: str, session: Session | None = None) -> int:
        """Raise NotFound when there are no such bytes. `session`: as for `read`."""
        place = self._places([digest], session).get(digest)
        return self._objects.stat(_path(digest)).size if place is None else place.size

    def _places(self, digests: Sequence[str], session: Session | None = None) -> dict[str, Place]:
        return self._database.read(places_of, digests) if session is None else places_of(session, digests)

    def _read_run(self, run: Run) -> dict[str, memoryview]:
        try:
            data = memoryview(self._objects.read_range(_pack_path(run.pack), start=run.start, size=run.size))
        except NotFound:
            return {}
        found, begin = {}, 0
        for digest, size in run.parts:
            if begin + size <= len(data):
                found[digest] = data[begin : begin + size]
            begin += size
        return found


def own(session: Session, project_id: int, digest: str, at: datetime, *, size: int | None = None) -> None:
    """Record that these bytes are stored and that a project has sent them. Idempotent."""
    own_all(session, project_id, {digest: size}, at)


def own_all(session: Session, project_id: int, sizes: Mapping[str, int | None], at: datetime) -> None:
    """As `own`, for many: digest -> size."""
    new = insert_into(session, BLOBS)
    old = BLOBS.c
    statement = new.on_conflict_do_update(
        index_elements=[old.project_id, old.digest],
        set_={
            "added_at": case((old.added_at < at - TOUCH, at), else_=old.added_at),
            "num_refs": case((old.num_refs < 0, 0), else_=old.num_refs),
            "size": func.coalesce(new.excluded.size, old.size),
        },
    )
    _write(session, statement, [_values(project_id, digest, at, 0) | {"size": sizes[digest]} for digest in sizes])


def expect(session: Session, project_id: int, digests: Iterable[str], at: datetime) -> None:
    """Record that these bytes are about to be written, so that clean-up does not remove them."""
    statement = insert_into(session, BLOBS).on_conflict_do_update(
        index_elements=[BLOBS.c.project_id, BLOBS.c.digest],
        set_={"num_refs": COMING, "added_at": at},
        where=BLOBS.c.num_refs < 0,
    )
    _write(session, statement, [_values(project_id, digest, at, COMING) for digest in set(digests)])


def _values(project_id: int, digest: str, at: datetime, num_refs: int) -> dict[str, Any]:
    return {"project_id": project_id, "digest": digest, "added_at": at, "num_refs": num_refs}


def _write(session: Session, statement: Insert, rows: list[dict[str, Any]]) -> None:
    """One statement per row, all in one call: objects of the ORM would take several times as long.

    Always in the same order, so that two writers never wait for each other.
    """
    if rows:
        session.flush()
        session.execute(statement, sorted(rows, key=lambda row: str(row["digest"])))


def known_sizes(session: Session, project_id: int, digests: Iterable[str]) -> dict[str, int]:
    """Digest -> size, of stored bytes that a project has sent."""
    found: dict[str, int] = {}
    for batch in _batches(digests):
        query = select(BlobOwnerRow.digest, BlobOwnerRow.size).where(
            BlobOwnerRow.project_id == project_id,
            BlobOwnerRow.digest.in_(batch),
            BlobOwnerRow.num_refs >= 0,
            BlobOwnerRow.size.is_not(None),
        )
        found.update((digest, size) for digest, size in session.execute(query) if size is not None)
    return found


def refer(session: Session, project_id: int, digests: Iterable[str], change: int) -> None:
    """Add `change` to the number of manifests of a project that refer to these bytes. They must be stored."""
    for batch in _batches(digests):
        session.execute(
            update(BlobOwnerRow)
            .where(BlobOwnerRow.project_id == project_id, BlobOwnerRow.digest.in_(batch))
            .values(num_refs=BlobOwnerRow.num_refs + change)
        )


def touch(session: Session, digests: Iterable[str], at: datetime) -> None:
    """Record that these bytes are in use, so that clean-up keeps them."""
    for batch in _batches(digests):
        session.execute(
            update(BlobOwnerRow)
            .where(BlobOwnerRow.digest.in_(batch), BlobOwnerRow.added_at < at - TOUCH)
            .values(added_at=at)
        )


def owned(session: Session, project_ids: Sequence[int] | None, digests: Iterable[str]) -> set[str]:
    """The digests that one of the projects has sent; None: any project."""
    found: set[str] = set()
    for batch in _batches(digests):
        query = select(BlobOwnerRow.digest).where(BlobOwnerRow.digest.in_(batch), BlobOwnerRow.num_refs >= 0)
        if project_ids is not None:
            query = query.where(BlobOwnerRow.project_id.in_(project_ids))
        found.update(session.scalars(query))
    return found


def sizes_of(session: Session, project_id: int, digests: Iterable[str]) -> dict[str, int | None]:
    """Digest -> size of those that a project has, None where it was never needed."""
    found: dict[str, int | None] = {}
    for batch in _batches(digests):
        query = select(BlobOwnerRow.digest, BlobOwnerRow.size).where(
            BlobOwnerRow.project_id == project_id, BlobOwnerRow.digest.in_(batch), BlobOwnerRow.num_refs >= 0
        )
        found.update((digest, size) for digest, size in session.execute(query))
    return found


def adopt(
    session: Session, project_id: int, digests: Iterable[str], at: datetime, *, among: Sequence[int] | None
) -> set[str]:
    """Make bytes the project's that one of the projects `among` (None: any) has. Return those that none of them has.

    For callers who may read those projects: they could fetch the bytes and send them again.
    """
    wanted = set(digests)
    missing = wanted - owned(session, [project_id], wanted)
    found = owned(session, among, missing)
    own_all(session, project_id, dict.fromkeys(found), at)
    return missing - found


def projects_with_blob(session: Session, digest: str, project_ids: Collection[int] | None) -> Sequence[int]:
    """Which of these projects (None: of all) have sent these bytes."""
    query = select(BlobOwnerRow.project_id).where(BlobOwnerRow.digest == digest, BlobOwnerRow.num_refs >= 0)
    if project_ids is not None:
        query = query.where(BlobOwnerRow.project_id.in_(project_ids))
    return session.scalars(query.order_by(BlobOwnerRow.project_id)).all()


def add_tree(session: Session, project_id: int, digest: str, at: datetime) -> None:
    """Note that a project has a tree, all of whose files are the project's. Quiet when that is known."""
    if session.get(TreeRow, (project_id, digest)) is None:
        session.add(TreeRow(project_id=project_id, digest=digest, added_at=at))
        session.flush()


def projects_with_tree(session: Session, digest: str, project_ids: Collection[int] | None) -> Sequence[int]:
    """Which of these projects (None: of all) have a tree."""
    query = select(TreeRow.project_id).where(TreeRow.digest == digest)
    if project_ids is not None:
        query = query.where(TreeRow.project_id.in_(project_ids))
    return session.scalars(query.order_by(TreeRow.project_id)).all()


def _batches(digests: Iterable[str]) -> Iterator[list[str]]:
    wanted = sorted(set(digests))
    return (wanted[first : first + 500] for first in range(0, len(wanted), 500))


def _pack_path(pack_id: str) -> StorePath:
    return StorePath(BUCKET, f"{PACKS}{pack_id[:2]}/{pack_id}")


def _path(digest: str) -> StorePath:
    if not _DIGEST.fullmatch(digest):
        raise InvalidInput(f"expected a digest of 64 hexadecimal digits, got {digest!r}")
    return StorePath(BUCKET, f"{digest[:2]}/{digest}")
