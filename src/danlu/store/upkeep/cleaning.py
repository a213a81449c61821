"""Clean-up: find data that is no longer needed, so that it can be listed, and then remove it.

Recent data is kept, because an upload, a client or another server may still use it.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from danlu.content.manifest import read_manifest
from danlu.errors import NotFound
from danlu.spec.messages.catalogue import say
from danlu.spec.paths import StorePath
from danlu.store.logs.index import Logs
from danlu.store.objects import uploads
from danlu.store.objects.base import PARTIAL
from danlu.store.objects.blobs import BUCKET, GOING, TOUCH, Blobs
from danlu.store.queries import artifacts, attempts, jobs
from danlu.store.sql.database import Database
from danlu.store.sql.pack_tables import BlobPlaceRow
from danlu.store.sql.rights_tables import TreeRow
from danlu.store.sql.tables import AttemptRow, BlobOwnerRow, JobRow, LogSegmentRow, UploadRow
from danlu.store.sql.template_tables import TemplateRow
from danlu.store.upkeep.leftovers import Kind, Leftover, Places
from danlu.store.upkeep.repacking import unused_packs

log = logging.getLogger(__name__)
DAY_SECONDS = 86400.0
UPLOAD_DAYS = 7
BLOB_DAYS = 14
BATCH = 200


def find_leftovers(places: Places) -> Iterator[Leftover]:
    yield from _old_uploads(places)
    yield from _partial_files(places)
    yield from _unused_blobs(places)
    yield from unused_packs(places)
    yield from _old_logs(places)
    yield from _lost_logs(places)


def _old_uploads(places: Places) -> Iterator[Leftover]:
    with places.database.reading() as session:
        old = uploads.begun_before(session, places.now() - timedelta(days=UPLOAD_DAYS), limit=10_000)
        known = set(session.scalars(select(UploadRow.id)))
        at_service = set(session.scalars(select(UploadRow.service_id)))
    for row in old:

        def remove(row: UploadRow = row) -> None:
            uploads.delete_with_bytes(row, places.database, arrived=places.uploads, objects=places.objects)

        yield Leftover(Kind.UPLOAD, str(StorePath(row.bucket, row.key)), places.uploads.offset(row.id), remove)
    yield from _old_artifact_uploads(places)
    for path in _files(places.uploads.folder):
        if path.name not in known and _is_old(path):
            yield _file(Kind.UPLOAD, path)
    for home in (places.objects, places.inner):
        for part in home.unfinished():
            if part.id not in at_service and places.now() - part.begun_at > timedelta(days=1):
                yield Leftover(Kind.UPLOAD, f"parts of {part.key} at the object service", 0, part.abort)


def _old_artifact_uploads(places: Places) -> Iterator[Leftover]:
    moment = places.now() - timedelta(days=UPLOAD_DAYS)
    with places.database.reading() as session:
        old = artifacts.uploads_last_seen_before(session, moment)
    for row in old:

        def remove(upload_id: str = row.id) -> None:
            places.database.write(artifacts.forget_upload, upload_id, seen_before=moment)

        yield Leftover(Kind.UPLOAD, f"artifact {row.name}", 0, remove)


def _partial_files(places: Places) -> Iterator[Leftover]:
    for folder in places.partial_dirs:
        is_spool = folder.name == "spool"
        for path in _files(folder):
            if (is_spool or path.name.startswith(PARTIAL)) and _is_old(path):
                yield _file(Kind.PARTIAL, path)


def _unused_blobs(places: Places) -> Iterator[Leftover]:
    with places.database.reading() as session:
        moment = _oldest_needed(session, places.now())
        trees = referenced_trees(session)
        old = _last_sent_before(session, moment)
    old -= _with_files(places.blobs, trees)
    for digest in sorted(old - _named_by_manifests(places, old)):
        try:
            size = places.blobs.size(digest)
        except NotFound:
            size = 0

        def remove(digest: str = digest) -> None:
            _remove_blob(places, digest, moment, known_trees=trees)

        yield Leftover(Kind.BLOB, digest, size, remove)


def _named_by_manifests(places: Places, wanted: set[str]) -> set[str]:
    """Blobs that a manifest names although their reference count is zero: a wrong count must not lose data."""
    if not wanted:
        return set()
    with places.database.reading() as session:
        digests = artifacts.all_manifests(session)
    found: set[str] = set()
    for digest in digests:
        try:
            named = read_manifest(b"".join(places.blobs.read(digest))).chunks().keys()
        except NotFound:
            continue  # a request for that version reports it
        found |= wanted & {digest, *named}
    if found:
        log.warning("%s blobs have a wrong reference count and are kept, such as %s", len(found), min(found))
    return found


def _oldest_needed(session: Session, now: datetime) -> datetime:
    """Data sent after this moment is kept: two weeks ago, or before the oldest unfinished artifact upload."""
    begun = artifacts.oldest_upload(session, now - timedelta(days=UPLOAD_DAYS))
    oldest = now - timedelta(days=BLOB_DAYS)
    return oldest if begun is None else min(oldest, begun - TOUCH)


def referenced_trees(session: Session) -> frozenset[str]:
    """Digests of trees that jobs and templates refer to. Artifacts are counted in the rows of their blobs."""
    specs = (JobRow.spec, TemplateRow.spec)
    found = [tree for spec in specs for tree in session.scalars(select(spec["code"]["tree"].as_string()).distinct())]
    return frozenset(tree for tree in found if tree)


def _last_sent_before(session: Session, moment: datetime) -> set[str]:
    """Blobs that no manifest names and that were last sent before `moment`."""
    query = select(BlobOwnerRow.digest).group_by(BlobOwnerRow.digest)
    is_old, is_free = func.max(BlobOwnerRow.added_at) < moment, func.max(BlobOwnerRow.num_refs) <= 0
    return set(session.scalars(query.having(is_old & is_free)))


def _with_files(blobs: Blobs, trees: Iterable[str], session: Session | None = None) -> set[str]:
    """Digests of the trees and of their files."""
    found = set(trees)
    for tree in trees:
        try:
            found.update(row[1] for row in json.loads(b"".join(blobs.read(tree, session))))
        except NotFound:
            continue  # the job fails with a clear reason when it starts
    return found


def _remove_blob(places: Places, digest: str, moment: datetime, *, known_trees: frozenset[str]) -> None:
    """Mark the bytes as GOING, then remove them unless they were claimed in the meantime."""
    if announce_removal(places, digest, moment, known_trees=known_trees):
        finish_removal(places, digest)


def announce_removal(
    places: Places, digest: str, moment: datetime, *, known_trees: frozenset[str] = frozenset()
) -> bool:
    """Mark bytes as GOING; False when something refers to them.

    If the server is killed after this, the bytes count as missing, and the next clean-up removes them.
    """
    with places.database.writing() as session:
        if not _is_free(places, session, digest, moment, known_trees):
            return False
        session.execute(update(BlobOwnerRow).where(BlobOwnerRow.digest == digest).values(num_refs=GOING))
    return True


def finish_removal(places: Places, digest: str) -> None:
    """Remove rows and bytes in one transaction, unless the same bytes were sent again or are being sent."""
    with places.database.writing() as session:
        rows = session.scalars(select(BlobOwnerRow).where(BlobOwnerRow.digest == digest)).all()
        if any(row.num_refs != GOING for row in rows):
            _keep(rows)
            return
        session.execute(delete(BlobOwnerRow).where(BlobOwnerRow.digest == digest))
        session.execute(delete(TreeRow).where(TreeRow.digest == digest))
        session.execute(delete(BlobPlaceRow).where(BlobPlaceRow.digest == digest))
        session.flush()
        places.inner.delete(StorePath(BUCKET, f"{digest[:2]}/{digest}"))


def _is_free(places: Places, session: Session, digest: str, moment: datetime, known_trees: frozenset[str]) -> bool:
    """Whether the blob is still unused and was not sent again."""
    if digest in _with_files(places.blobs, referenced_trees(session) - known_trees, session):
        return False  # a job refers to it now
    query = select(func.max(BlobOwnerRow.added_at), func.max(BlobOwnerRow.num_refs))
    sent_at, num_refs = session.execute(query.where(BlobOwnerRow.digest == digest)).one()
    return sent_at is None or (sent_at < moment and num_refs <= 0)


def _keep(rows: Sequence[BlobOwnerRow]) -> None:
    """Keep the bytes: undo GOING."""
    is_sure = any(row.num_refs >= 0 for row in rows)
    for row in rows:
        if row.num_refs == GOING and is_sure:
            row.num_refs = 0


def _old_logs(places: Places) -> Iterator[Leftover]:
    if places.log_days == 0:
        return
    with places.database.reading() as session:
        old = attempts.with_logs_older_than(session, places.now() - timedelta(days=places.log_days), 10_000)
        sizes = {(row.job_id, row.number): _log_size(session, row) for row in old}
    for attempt in old:

        def remove(attempt: AttemptRow = attempt) -> None:
            remove_old_log(places.database, places.logs, attempt, places.log_days, places.now())

        name = f"{attempt.job_id} attempt {attempt.number}"
        yield Leftover(Kind.OLD_LOG, name, sizes[attempt.job_id, attempt.number], remove)


def remove_old_log(database: Database, logs: Logs, attempt: AttemptRow, days: int, now: datetime) -> None:
    """Delete the logs of one attempt, with an event."""
    with database.writing() as session:
        logs.remove_attempt(session, attempt.job_id, attempt.number)
        attempts.mark_without_logs(session, attempt)
        told = say("logs_removed", attempt=attempt.number, days=days)
        jobs.add_event(session, attempt.job_id, attempt.number, kind="logs_removed", message=told, at=now)
    logs.drop_files(attempt.job_id, attempt.number)


def _log_size(session: Session, attempt: AttemptRow) -> int:
    query = select(func.sum(LogSegmentRow.size)).where(
        LogSegmentRow.job_id == attempt.job_id, LogSegmentRow.attempt == attempt.number
    )
    return int(session.scalar(query) or 0)


def _lost_logs(places: Places) -> Iterator[Leftover]:
    folders = [path for path in _entries(places.log_dir) if path.is_dir() and _is_old(path)]
    for first in range(0, len(folders), BATCH):
        part = folders[first : first + BATCH]
        with places.database.reading() as session:
            known = jobs.jobs_by_id(session, [path.name for path in part])
        for path in part:
            if path.name not in known:
                size = sum(file.stat().st_size for file in _files(path))

                def remove(job_id: str = path.name) -> None:
                    places.logs.drop_files(job_id)

                yield Leftover(Kind.LOST_LOG, path.name, size, remove)


def _file(kind: Kind, path: Path) -> Leftover:
    def remove() -> None:
        path.unlink(missing_ok=True)

    return Leftover(kind, str(path), path.stat().st_size, remove)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _is_old(path: Path) -> bool:
    """Whether the file has not been modified for a day, by the machine's clock."""
    try:
        return time.time() - path.stat().st_mtime > DAY_SECONDS
    except FileNotFoundError:
        return False
