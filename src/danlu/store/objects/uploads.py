"""Resumable uploads: a row for each, and a file with the bytes that have arrived."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from danlu.errors import StorageFull
from danlu.spec.paths import StorePath
from danlu.store.files import NO_ROOM, write_at
from danlu.store.objects.base import Objects
from danlu.store.sql.database import Database
from danlu.store.sql.tables import UploadRow


class Uploads:
    """Bytes that have arrived. They survive a restart."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def folder(self) -> Path:
        return self._root

    def offset(self, upload_id: str) -> int:
        try:
            return self._path(upload_id).stat().st_size
        except FileNotFoundError:
            return 0

    def append(self, upload_id: str, offset: int, data: bytes) -> None:
        """Write at `offset`, over what an interrupted request left there."""
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            write_at(self._path(upload_id), offset, data)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise StorageFull("the store's disk is full; free space and resume the upload") from error
            raise

    def file(self, upload_id: str) -> Path:
        """The file with the bytes; it exists even when empty."""
        path = self._path(upload_id)
        self._root.mkdir(parents=True, exist_ok=True)
        path.touch()  # an empty object has no pieces
        return path

    def drop(self, upload_id: str) -> None:
        self._path(upload_id).unlink(missing_ok=True)

    def _path(self, upload_id: str) -> Path:
        return self._root / upload_id


def add_upload(session: Session, row: UploadRow) -> None:
    session.add(row)
    session.flush()


def get_upload(session: Session, upload_id: str) -> UploadRow | None:
    return session.get(UploadRow, upload_id)


def find_upload(session: Session, owner: str, *, bucket_id: str, key: str, size: int, sha256: str) -> UploadRow | None:
    """The unfinished upload of the same bytes to the same key by the same owner."""
    return session.scalar(
        select(UploadRow).where(
            UploadRow.owner == owner,
            UploadRow.bucket_id == bucket_id,
            UploadRow.key == key,
            UploadRow.size == size,
            UploadRow.sha256 == sha256,
        )
    )


def begun_before(session: Session, moment: datetime, limit: int = 100) -> Sequence[UploadRow]:
    return session.scalars(select(UploadRow).where(UploadRow.created_at < moment).limit(limit)).all()


def delete_upload(session: Session, upload_id: str) -> None:
    session.execute(delete(UploadRow).where(UploadRow.id == upload_id))


def delete_with_bytes(row: UploadRow, database: Database, *, arrived: Uploads, objects: Objects) -> None:
    """Delete an upload and its bytes, here or at the object service."""
    database.write(delete_upload, row.id)
    arrived.drop(row.id)
    grants = objects.grants()
    if row.service_id is not None and grants is not None:
        grants.abort(StorePath(row.place or row.bucket, row.key), row.service_id)
