"""Bytes by their digest. The same bytes are kept once; who may name them is in the database."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from danlu.errors import InvalidInput
from danlu.spec.paths import StorePath
from danlu.store.objects import Objects, Writer
from danlu.store.tables import BlobOwnerRow

BUCKET = "blobs"
TOUCH = timedelta(days=1)
"""How exact it is known when bytes were last of use."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Blobs:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def put(self, digest: str) -> Writer:
        """Begin an upload; commit it with the digest."""
        return self._objects.put(_path(digest))

    def put_bytes(self, digest: str, data: bytes) -> None:
        writer = self.put(digest)
        writer.write(data)
        writer.commit(digest)

    def read(self, digest: str) -> Iterator[bytes]:
        return self._objects.read(_path(digest))

    def size(self, digest: str) -> int:
        return self._objects.stat(_path(digest)).size


def own(session: Session, project_id: int, digest: str, at: datetime) -> None:
    """Note that a project has sent these bytes. Quiet when it had already."""
    row = session.get(BlobOwnerRow, (project_id, digest))
    if row is None:
        session.add(BlobOwnerRow(project_id=project_id, digest=digest, added_at=at))
    elif at - row.added_at > TOUCH:
        row.added_at = at


def touch(session: Session, digests: Iterable[str], at: datetime) -> None:
    """Note that these bytes are still used, so that they are not cleaned away."""
    wanted = list(set(digests))
    for first in range(0, len(wanted), 500):
        session.execute(
            update(BlobOwnerRow)
            .where(
                BlobOwnerRow.digest.in_(wanted[first : first + 500]),
                BlobOwnerRow.added_at < at - TOUCH,
            )
            .values(added_at=at)
        )


def owned(session: Session, project_ids: Sequence[int] | None, digests: Iterable[str]) -> set[str]:
    """Return those of the digests that one of the projects has sent; None: any project."""
    wanted = list(set(digests))
    found: set[str] = set()
    for first in range(0, len(wanted), 500):
        query = select(BlobOwnerRow.digest).where(BlobOwnerRow.digest.in_(wanted[first : first + 500]))
        if project_ids is not None:
            query = query.where(BlobOwnerRow.project_id.in_(project_ids))
        found.update(session.scalars(query))
    return found


def _path(digest: str) -> StorePath:
    if not _DIGEST.fullmatch(digest):
        raise InvalidInput(f"{digest!r} is not a digest; 64 hexadecimal digits would be right")
    return StorePath(BUCKET, f"{digest[:2]}/{digest}")
