"""Objects in one bucket of an S3 service, transferred by obstore.

Key: <prefix><bucket>/<key>; the SHA-256 is metadata. An object and a folder may have the same name here.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import obstore
from obstore.exceptions import BaseError, NotSupportedError, PreconditionError
from obstore.store import S3Store

from danlu.errors import BadChecksum, Conflict, InvalidInput, NotFound, StorageFull, Unavailable
from danlu.spec.paths import StorePath, check_bucket
from danlu.store.files import NO_ROOM
from danlu.store.objects.base import (
    CHUNK_BYTES,
    Bytes,
    Grants,
    Listing,
    ObjectInfo,
    Objects,
    OpenObject,
    Unfinished,
    Writer,
    check_prefix,
    checked_key,
)
from danlu.store.objects.s3_grants import SHA256, S3Grants
from danlu.store.objects.s3_place import S3Place
from danlu.store.objects.s3_requests import S3Requests

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Credential

IN_MEMORY_BYTES = 8 << 20
"""Larger uploads are written to a file first, and sent when they are complete and correct."""

PART_BYTES = 16 << 20
MAX_PARTS = 9000
NUM_CONNECTIONS = 4
DELETE_KEYS = 1000
COPY_BYTES = 5 << 30
"""Largest object that a service copies by itself."""


class S3Objects(Objects):
    def __init__(self, place: S3Place, spool: Path, *, is_direct: bool = False, folder: str = "") -> None:
        """`spool`: folder for large incomplete uploads. `folder`: below the place's prefix, ends in `/`."""
        self._prefix = place.prefix + folder
        self._spool = spool
        self._store = _make_store(place)
        self._requests = S3Requests(place)
        self._is_direct = is_direct

    def put(self, path: StorePath, sha256: str | None = None) -> Writer:  # noqa: ARG002
        return _S3Writer(self, path, self._key(path))

    def put_whole(self, path: StorePath, data: Bytes, *, sha256: str | None = None) -> None:
        if sha256 is not None:
            _check(path, sha256, hashlib.sha256(data).hexdigest())
        self.send(path, self._key(path), data=data, sha256=sha256)

    def move_in(self, path: StorePath, file: Path, *, sha256: str) -> ObjectInfo:
        key = self._key(path)
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        _check(path, sha256, digest)
        info = self.send(path, key, data=file, sha256=digest)
        file.unlink(missing_ok=True)
        return info

    def send(self, path: StorePath, key: str, *, data: Bytes | Path, sha256: str | None) -> ObjectInfo:
        """Upload bytes, or a file in parts."""
        size = data.stat().st_size if isinstance(data, Path) else len(data)
        with _plain_errors(path):
            made = obstore.put(
                self._store,
                key,
                data,
                attributes={} if sha256 is None else {SHA256: sha256},
                use_multipart=size > PART_BYTES,
                chunk_size=max(PART_BYTES, -(-size // MAX_PARTS)),
                max_concurrency=NUM_CONNECTIONS,
            )
        return ObjectInfo(path.key, size, datetime.now(timezone.utc), sha256, _version(made["e_tag"]))

    def open(self, path: StorePath, *, is_range: bool = False) -> OpenObject:
        key = self._key(path)
        with _plain_errors(path):
            if is_range:
                return _S3Range(self._store, path, key, self.stat(path))
            return _S3Object(path, obstore.get(self._store, key))

    def read_whole(self, path: StorePath, max_bytes: int) -> tuple[ObjectInfo, bytes | None]:
        with _plain_errors(path):
            found = obstore.get(self._store, self._key(path))
            info = _info(path.key, found)
            return info, bytes(found.bytes()) if info.size <= max_bytes else None

    def stat(self, path: StorePath) -> ObjectInfo:
        with _plain_errors(path):
            found = obstore.get(self._store, self._key(path), options={"head": True})
            return _info(path.key, found)

    def list(self, bucket: str, *, prefix: str, delimiter: str, after: str, limit: int) -> Listing:
        if delimiter not in ("", "/"):
            raise InvalidInput(f"delimiter: expected '/' or nothing, got {delimiter!r}")
        check_prefix(prefix)
        top = self._top(bucket)
        found: list[ObjectInfo | str] = []
        while True:
            wanted = limit - len(found)
            page = self._requests.list(
                prefix=top + prefix, delimiter=delimiter, after=top + after if after else "", limit=min(wanted, 1000)
            )
            items: list[ObjectInfo | str] = [folder[len(top) :] for folder in page.folders]
            items += _once(ObjectInfo(item.key[len(top) :], item.size, item.modified_at) for item in page.objects)
            items.sort(key=_name)
            is_last = page.is_last and len(items) <= wanted  # some services do not count folders in max-keys
            found += items[:wanted]
            if is_last or not items:
                return _listing(found, next=None)
            after = _name(found[-1])
            if len(found) >= limit:
                return _listing(found, next=after)

    def copy(self, source: StorePath, target: StorePath) -> ObjectInfo:
        info = self.stat(source)
        if info.size > COPY_BYTES:
            return self._copy_through_here(source, target, info)
        with _plain_errors(source):
            obstore.copy(self._store, self._key(source), self._key(target))
        return self.stat(target)

    def delete(self, path: StorePath) -> bool:
        key = self._key(path)
        try:
            with _plain_errors(path):
                obstore.head(self._store, key)
                obstore.delete(self._store, key)
        except NotFound:
            return False
        return True

    def delete_below(self, path: StorePath) -> int:
        num_deleted = 0
        while True:
            # from the start each time: earlier keys are deleted
            page = self.list(path.bucket, prefix=path.key, delimiter="", after="", limit=DELETE_KEYS)
            if not page.objects:
                return num_deleted
            with _plain_errors(path):
                obstore.delete(self._store, [self._top(path.bucket) + item.key for item in page.objects])
            num_deleted += len(page.objects)
            if page.next is None:
                return num_deleted

    def unfinished(self) -> Iterator[Unfinished]:
        for key, upload, begun_at in self._requests.list_multiparts(self._prefix):
            yield Unfinished(
                key[len(self._prefix) :], upload, begun_at, abort=partial(self._requests.abort_multipart, key, upload)
            )

    def grants(self) -> Grants | None:
        return S3Grants(self, self._store, self._requests, self._key) if self._is_direct else None

    def spool_file(self) -> IO[bytes]:
        self._spool.mkdir(parents=True, exist_ok=True)
        return tempfile.NamedTemporaryFile(dir=self._spool, delete=False)

    def _copy_through_here(self, source: StorePath, target: StorePath, info: ObjectInfo) -> ObjectInfo:
        attributes = {SHA256: info.sha256} if info.sha256 else {}
        with _plain_errors(source):
            pieces = obstore.get(self._store, self._key(source)).stream(min_chunk_size=CHUNK_BYTES)
            obstore.put(
                self._store,
                self._key(target),
                pieces,
                attributes=attributes,
                chunk_size=max(PART_BYTES, -(-info.size // MAX_PARTS)),
                max_concurrency=NUM_CONNECTIONS,
            )
        return self.stat(target)

    def _top(self, bucket: str) -> str:
        check_bucket(bucket)
        return f"{self._prefix}{bucket}/"

    def _key(self, path: StorePath) -> str:
        return self._top(path.bucket) + checked_key(path)


class _S3Object(OpenObject):
    """One response, read to its end or closed."""

    def __init__(self, path: StorePath, found: obstore.GetResult) -> None:
        self.info = _info(path.key, found)
        self._path = path
        self._found = found

    def pieces(self, start: int = 0, size: int | None = None) -> Iterator[bytes]:
        with _plain_errors(self._path):
            yield from _range_of(self._found.stream(min_chunk_size=CHUNK_BYTES), start, size)

    def close(self) -> None:
        """Nothing to close before `pieces`."""


class _S3Range(OpenObject):
    """The range is requested in `pieces`."""

    def __init__(self, store: S3Store, path: StorePath, key: str, info: ObjectInfo) -> None:
        self.info = info
        self._store, self._path, self._key = store, path, key

    def pieces(self, start: int = 0, size: int | None = None) -> Iterator[bytes]:
        end = self.info.size if size is None else min(start + size, self.info.size)
        if start >= end:
            return
        with _plain_errors(self._path):
            same = f'"{self.info.version}"'
            try:
                found = obstore.get(self._store, self._key, options={"if_match": same, "range": (start, end)})
                yield from (bytes(piece) for piece in found.stream(min_chunk_size=CHUNK_BYTES))
            except BaseError as error:
                if "NotPartial" not in str(error):
                    raise
                # some services ignore ranges: read everything and cut out the part
                whole = obstore.get(self._store, self._key, options={"if_match": same})
                yield from _range_of(whole.stream(min_chunk_size=CHUNK_BYTES), start, end - start)

    def close(self) -> None:
        """Nothing stays open between ranges."""


class _S3Writer(Writer):
    def __init__(self, objects: S3Objects, path: StorePath, key: str) -> None:
        self._objects, self._path, self._key = objects, path, key
        self._hash = hashlib.sha256()
        self._pending = bytearray()
        self._file: IO[bytes] | None = None

    def write(self, data: Bytes) -> None:
        self._hash.update(data)
        if self._file is None and len(self._pending) + len(data) <= IN_MEMORY_BYTES:
            self._pending += data
            return
        try:
            if self._file is None:
                self._file = self._objects.spool_file()
                self._file.write(self._pending)
                self._pending.clear()
            self._file.write(data)
        except OSError as error:
            self.abort()
            raise _no_room(error, self._path) from error

    def commit(self, sha256: str | None = None) -> ObjectInfo:
        digest = self._hash.hexdigest()
        try:
            _check(self._path, sha256, digest)
            if self._file is None:
                return self._objects.send(self._path, self._key, data=bytes(self._pending), sha256=digest)
            self._file.flush()
            return self._objects.send(self._path, self._key, data=Path(self._file.name), sha256=digest)
        except OSError as error:
            raise _no_room(error, self._path) from error
        finally:
            self.abort()

    def abort(self) -> None:
        self._pending = bytearray()
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            Path(self._file.name).unlink(missing_ok=True)


def _make_store(place: S3Place) -> S3Store:
    options: ClientConfig = {
        "allow_http": place.endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=10),
        "read_timeout": timedelta(seconds=60),
        "timeout": timedelta(hours=6),  # for a whole response of any size
    }
    if place.proxy:
        options["proxy_url"] = place.proxy
    endpoint = place.bucket_url if place.is_virtual_host else place.endpoint
    return S3Store(
        place.bucket,
        endpoint=endpoint,
        # override AWS_... variables, which obstore reads
        aws_endpoint_url_s3=endpoint,
        skip_signature=False,
        credential_provider=partial(_credential, place),
        region=place.region,
        virtual_hosted_style_request=place.is_virtual_host,
        client_options=options,
        retry_config={"max_retries": 4, "retry_timeout": timedelta(seconds=30)},
    )


def _credential(place: S3Place) -> S3Credential:
    return {
        "access_key_id": place.access_key_id,
        "secret_access_key": place.secret_access_key,
        "token": None,
        "expires_at": None,
    }


def _range_of(pieces: Iterator[Any], start: int, size: int | None) -> Iterator[bytes]:
    end = None if size is None else start + size
    position = 0
    for piece in pieces:
        view = memoryview(piece)[max(0, start - position) : None if end is None else max(0, end - position)]
        position += len(piece)
        if view:
            yield bytes(view)
        if end is not None and position >= end:
            return


def _name(item: ObjectInfo | str) -> str:
    return item if isinstance(item, str) else item.key


def _once(found: Iterable[ObjectInfo]) -> Iterable[ObjectInfo]:
    """Each key once, the newest: rclone may list a key twice after concurrent writes."""
    by_key: dict[str, ObjectInfo] = {}
    for info in found:
        if info.key not in by_key or by_key[info.key].modified_at < info.modified_at:
            by_key[info.key] = info
    return by_key.values()


def _listing(found: list[ObjectInfo | str], next: str | None) -> Listing:
    return Listing(
        objects=[item for item in found if isinstance(item, ObjectInfo)],
        folders=[item for item in found if isinstance(item, str)],
        next=next,
    )


def _info(key: str, found: obstore.GetResult) -> ObjectInfo:
    meta = found.meta
    attributes = {str(name).lower(): value for name, value in found.attributes.items()}
    version = _version(meta["e_tag"]) or f"{meta['last_modified'].timestamp():.0f}-{meta['size']}"
    return ObjectInfo(key, meta["size"], meta["last_modified"], attributes.get(SHA256), version)


def _version(etag: str | None) -> str:
    return (etag or "").strip('"')


def _check(path: StorePath, announced: str | None, digest: str) -> None:
    if announced is not None and announced.lower() != digest:
        raise BadChecksum(f"{path}: expected sha256 {announced}, got {digest}; send it again")


@contextmanager
def _plain_errors(path: StorePath) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"no object {path}") from error
    except PreconditionError as error:
        raise Conflict(f"{path} was replaced while it was read; read it again") from error
    except NotSupportedError as error:
        raise Unavailable(f"{path}: the object service cannot do this: {_brief(error)}") from error
    except BaseError as error:
        raise Unavailable(f"{path}: the object service failed: {_brief(error)}") from error


def _brief(error: Exception) -> str:
    return str(error).split("\n\nDebug source", maxsplit=1)[0].replace("\n", " ")[:300]


def _no_room(error: OSError, path: StorePath) -> Exception:
    if error.errno in NO_ROOM:
        return StorageFull(f"the server's disk is full: {path} was not stored; free space and send it again")
    return error
