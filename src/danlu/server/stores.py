"""Creates stores from the settings: the database, objects, blobs and logs."""

from __future__ import annotations

from danlu.errors import InvalidInput
from danlu.scheduler.context import utc_now
from danlu.server.settings import ServerSettings
from danlu.store.logs.index import Logs
from danlu.store.logs.segments import LogFiles
from danlu.store.metrics.journal_files import JournalFiles
from danlu.store.metrics.store import Metrics
from danlu.store.objects.base import Objects
from danlu.store.objects.blobs import Blobs
from danlu.store.objects.local import LocalObjects
from danlu.store.objects.s3_place import S3Place, parse_s3_url
from danlu.store.objects.uploads import Uploads
from danlu.store.sql.database import Database, sqlite_url
from danlu.store.upkeep.backup import INNER_BUCKETS
from danlu.store.upkeep.leftovers import Places

OBJECTS, INNER = "store/", "server/"
"""Folders in S3: for objects of users, and for what only the server uses."""


def open_database(settings: ServerSettings) -> Database:
    return Database(settings.database_url or sqlite_url(settings.server_dir / "danlu.db"))


def make_objects(settings: ServerSettings) -> Objects:
    place = s3_place(settings)
    if place is None:
        return LocalObjects(settings.objects_dir)
    from danlu.store.objects.s3 import S3Objects

    return S3Objects(place, settings.spool_dir, is_direct=settings.direct_transfers, folder=OBJECTS)


def make_blobs(settings: ServerSettings, database: Database) -> Blobs:
    return Blobs(make_inner(settings), database)


def make_inner(settings: ServerSettings) -> Objects:
    """The store for the server's own bytes, such as blobs."""
    place = s3_place(settings)
    if place is None:
        return LocalObjects(settings.server_dir)
    from danlu.store.objects.s3 import S3Objects

    return S3Objects(place, settings.spool_dir, folder=INNER)


def make_uploads(settings: ServerSettings) -> Uploads:
    return Uploads(settings.server_dir / "uploads")


def make_logs(settings: ServerSettings, database: Database) -> Logs:
    return Logs(database, LogFiles(settings.log_dir), settings.max_log_bytes)


def cleaning_places(settings: ServerSettings, database: Database) -> Places:
    """Everything that clean-up inspects."""
    inner = make_inner(settings)
    inner_folders = [settings.server_dir / name for name in INNER_BUCKETS]
    return Places(
        database=database,
        objects=make_objects(settings),
        blobs=Blobs(inner, database),
        inner=inner,
        uploads=make_uploads(settings),
        logs=make_logs(settings, database),
        log_dir=settings.server_dir / "logs",
        partial_dirs=(settings.objects_dir, settings.spool_dir, *inner_folders),
        log_days=settings.log_days,
        now=utc_now,
    )


def make_metrics(settings: ServerSettings, database: Database) -> Metrics:
    """Journals are in the data folder, as logs are; packs are in the server's own store."""
    files = JournalFiles(settings.server_dir / "runs")
    return Metrics(database, files, make_inner(settings), pack_bytes=settings.pack_bytes)


def s3_place(settings: ServerSettings) -> S3Place | None:
    """The S3 service that objects are in; None when they are in a folder."""
    if not settings.objects_url:
        return None
    bucket, prefix = parse_s3_url(settings.objects_url)
    secret = settings.s3_secret_access_key.get_secret_value()
    if not settings.s3_access_key_id or not secret:
        told = "DANLU_SERVER_S3_ACCESS_KEY_ID and DANLU_SERVER_S3_SECRET_ACCESS_KEY are needed with objects_url"
        raise InvalidInput(told, fields={"s3_access_key_id": told})
    return S3Place(
        bucket=bucket,
        prefix=prefix,
        endpoint=settings.s3_endpoint or f"https://s3.{settings.s3_region}.amazonaws.com",
        region=settings.s3_region,
        access_key_id=settings.s3_access_key_id,
        secret_access_key=secret,
        is_virtual_host=settings.s3_virtual_host,
        proxy=settings.s3_proxy,
    )


def where_objects_are(settings: ServerSettings) -> str:
    """A line that is the same for all servers that share their objects."""
    place = s3_place(settings)
    return "folder" if place is None else f"{place.endpoint} s3://{place.bucket}/{place.prefix}"
