"""Backups: one file with all rows and a list of all objects, written while servers run.

manifest.json               when, by which version, at which revision, how many rows
tables/<name>.jsonl         first line: the columns; then a row per line
objects.jsonl               ["store" | "server", bucket, key, size] per object
secret.key                  the sealing key, only if requested

Objects and logs are not included; copy them with the tools of their storage.
"""

from __future__ import annotations

import io
import json
import os
import uuid
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from danlu import __version__
from danlu.errors import InvalidInput, NotFound
from danlu.spec.paths import StorePath
from danlu.store.metrics.packs import BUCKET as METRICS
from danlu.store.objects.base import ObjectInfo, Objects
from danlu.store.objects.blobs import BUCKET as BLOBS
from danlu.store.queries import buckets
from danlu.store.queries.facts import restate
from danlu.store.sql import migrate
from danlu.store.sql.database import Database
from danlu.store.upkeep import dump

FORMAT = 1
KEY = "secret.key"
INNER_BUCKETS = (BLOBS, METRICS)
"""Buckets that only the server uses."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The object stores: `objects` for buckets of users, `inner` for those of the server."""

    objects: Objects
    inner: Objects


@dataclass(frozen=True, slots=True)
class BackupReport:
    num_rows: dict[str, int]
    num_objects: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class RestoreReport:
    num_rows: dict[str, int]
    num_objects: int
    missing: list[str]
    """Objects in the backup's list that are missing."""


def write_backup(
    database: Database, stores: Stores, target: Path, *, now: datetime, key_file: Path | None = None
) -> BackupReport:
    """Write a backup; the file appears when it is complete."""
    # in a shared folder such as /tmp, another user may have created a file or a link with a predictable name
    partial = target.with_name(f".partial.{uuid.uuid4().hex}.{target.name}")
    try:
        with os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                report = _write(archive, database, stores, now, key_file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return report


def read_manifest(source: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(source) as archive:
            manifest: dict[str, Any] = json.loads(archive.read("manifest.json"))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise InvalidInput(f"{source} is not a complete backup of `danlu admin backup`") from error
    if manifest.get("format") != FORMAT:
        raise InvalidInput(f"{source} has format {manifest.get('format')}; this version reads {FORMAT}")
    return manifest


def read_key(source: Path) -> bytes | None:
    """The sealing key, if the backup contains it."""
    with zipfile.ZipFile(source) as archive:
        return archive.read(KEY) if KEY in archive.namelist() else None


def read_fact(source: Path, name: str) -> str | None:
    """A fact of the backed-up servers."""
    read_manifest(source)
    with zipfile.ZipFile(source) as archive:
        table = _table(archive, "facts")
        found = {row[0]: row[1] for row in table.rows}
    return found.get(name)


def restore_backup(database: Database, stores: Stores, source: Path, facts: Mapping[str, str]) -> RestoreReport:
    """Fill an empty database from a backup and check the objects. `facts` replace those in the backup."""
    manifest = read_manifest(source)
    dump.check_empty(database)
    migrate.upgrade(database, manifest["revision"])
    with zipfile.ZipFile(source) as archive:
        with database.writing() as session:
            counts = dump.load(session, (_table(archive, name) for name in manifest["tables"]))
            if counts != manifest["tables"]:
                raise InvalidInput(f"{source} is damaged: the numbers of rows differ from its manifest")
        migrate.upgrade(database)
        database.write(restate, facts)
        listed = _lines(archive, "objects.jsonl")
        num_objects, missing = 0, []
        for home, bucket, key, size in listed:
            num_objects += 1
            if not _is_there(stores.objects if home == "store" else stores.inner, StorePath(bucket, key), size):
                missing.append(f"{bucket}/{key}" if home == "store" else f"server/{bucket}/{key}")
    return RestoreReport(counts, num_objects, missing)


def all_objects(objects: Objects, bucket: str) -> Iterator[ObjectInfo]:
    after = ""
    while True:
        page = objects.list(bucket, prefix="", delimiter="", after=after, limit=1000)
        yield from page.objects
        if page.next is None:
            return
        after = page.next


def bucket_places(database: Database) -> Sequence[str]:
    """Places of all buckets in the object store."""
    with database.reading() as session:
        return [buckets.place_of(row) for row in buckets.list_buckets(session, None)]


def _write(
    archive: zipfile.ZipFile, database: Database, stores: Stores, now: datetime, key_file: Path | None
) -> BackupReport:
    counts: dict[str, int] = {}
    with database.reading() as session:
        at_revision = dump.revision(session)
        for table in dump.dump(session):
            with archive.open(f"tables/{table.name}.jsonl", "w", force_zip64=True) as file:
                file.write(dump.to_line(table.columns))
                counts[table.name] = 0
                for row in table.rows:
                    file.write(dump.to_line(row))
                    counts[table.name] += 1
    num_objects = num_bytes = 0
    with archive.open("objects.jsonl", "w", force_zip64=True) as file:
        for home, objects, bucket in (
            *(("store", stores.objects, name) for name in bucket_places(database)),
            *(("server", stores.inner, name) for name in INNER_BUCKETS),
        ):
            for info in all_objects(objects, bucket):
                file.write(dump.to_line([home, bucket, info.key, info.size]))
                num_objects, num_bytes = num_objects + 1, num_bytes + info.size
    if key_file is not None:
        archive.writestr(KEY, key_file.read_bytes())
    manifest = {
        "format": FORMAT,
        "danlu": __version__,
        "made_at": now.isoformat(),
        "revision": at_revision,
        "tables": counts,
        "num_objects": num_objects,
        "num_bytes": num_bytes,
    }
    archive.writestr("manifest.json", json.dumps(manifest, indent=2))
    return BackupReport(counts, num_objects, num_bytes)


def _table(archive: zipfile.ZipFile, name: str) -> dump.TableDump:
    lines = _lines(archive, f"tables/{name}.jsonl")
    return dump.TableDump(name, next(lines), lines)


def _lines(archive: zipfile.ZipFile, name: str) -> Iterator[list[Any]]:
    with archive.open(name) as file:
        for line in io.TextIOWrapper(file, encoding="utf-8", newline="\n"):
            yield json.loads(line)


def _is_there(objects: Objects, path: StorePath, size: int) -> bool:
    try:
        return objects.stat(path).size == size
    except NotFound:
        return False
