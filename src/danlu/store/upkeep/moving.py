"""Migration of all data to other stores, such as from SQLite and a folder to PostgreSQL and S3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

from danlu.errors import BadChecksum, NotFound
from danlu.spec.paths import StorePath
from danlu.store.objects.base import ObjectInfo, Objects
from danlu.store.objects.blobs import BUCKET as BLOBS
from danlu.store.objects.blobs import PACKS
from danlu.store.objects.packed import read_stored
from danlu.store.queries.facts import MOVED, restate
from danlu.store.sql import migrate
from danlu.store.sql.database import Database
from danlu.store.upkeep import dump
from danlu.store.upkeep.backup import INNER_BUCKETS, Stores, all_objects, bucket_places

NUM_PARALLEL = 8


@dataclass(frozen=True, slots=True)
class CopyReport:
    num_copied: int
    num_there: int
    """Objects that the target already had."""

    num_bytes: int


def copy_objects(database: Database, source: Stores, target: Stores, said: Callable[[int], None]) -> CopyReport:
    """Copy objects and blobs that the target lacks. Resumable."""
    num_copied = num_there = num_bytes = 0
    moves = [(source.objects, target.objects, name) for name in bucket_places(database)]
    moves += [(source.inner, target.inner, name) for name in INNER_BUCKETS]
    with ThreadPoolExecutor(NUM_PARALLEL) as pool:
        for here, there, bucket in moves:
            known = {info.key: info.size for info in all_objects(there, bucket)}

            def copy(
                info: ObjectInfo,
                here: Objects = here,
                there: Objects = there,
                bucket: str = bucket,
                known: Mapping[str, int] = known,
            ) -> bool:
                is_known = known.get(info.key) == info.size
                if is_known and here is source.inner and bucket == BLOBS:
                    return False  # the name of a blob or pack never gets other bytes
                return _copy(here, there, StorePath(bucket, info.key), is_known=is_known)

            found = list(all_objects(here, bucket))
            for info, is_copied in zip(found, pool.map(copy, found), strict=True):
                num_copied, num_there = num_copied + is_copied, num_there + (not is_copied)
                num_bytes += info.size if is_copied else 0
                said(num_copied + num_there)
    return CopyReport(num_copied, num_there, num_bytes)


def copy_rows(source: Database, target: Database, *, facts: Mapping[str, str], moved_to: str) -> dict[str, int]:
    """Copy all rows or none, and mark the source as moved, so that no server starts on it."""
    dump.check_empty(target)
    migrate.upgrade(source)
    migrate.upgrade(target)
    with source.reading() as session, target.writing() as other:
        counts = dump.load(other, dump.dump(session))
        restate(other, facts)
    source.write(restate, {MOVED: moved_to})
    return counts


def _copy(here: Objects, there: Objects, path: StorePath, *, is_known: bool) -> bool:
    """Copy one object; False if the target already has it."""
    try:
        with closing(here.open(path)) as found:
            if path.bucket == BLOBS and path.key.startswith(PACKS):  # its digests are in it
                data = b"".join(found.pieces())
                _check_pack(path, data)
                there.put_whole(path, data)
                return True
            digest = found.info.sha256
            if is_known and digest is not None and there.stat(path).sha256 == digest:
                return False
            writer = there.put(path, digest)
            try:
                for piece in found.pieces():
                    writer.write(piece)
            except BaseException:
                writer.abort()
                raise
            writer.commit(digest)
    except NotFound:  # deleted in the meantime
        return False
    return True


def _check_pack(path: StorePath, data: bytes) -> None:
    try:
        read_stored(data)
    except BadChecksum as error:
        raise BadChecksum(f"{path}: {error}; restore it from a backup") from error
