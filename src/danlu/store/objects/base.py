"""The interface of object stores. A key holds a whole object or none.

`local` stores objects in a folder, `s3` in an S3 service. Conditional puts are not used, because not every service has
them; locks are in the database.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from danlu.errors import DanluError, InvalidInput, NotFound
from danlu.spec.paths import StorePath, check_key

CHUNK_BYTES = 1 << 20
PARTIAL = ".partial."
NUM_AT_A_TIME = 8
Bytes = bytes | memoryview


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    key: str
    size: int
    modified_at: datetime
    sha256: str | None = None
    version: str = ""
    """Changes when the key holds other bytes; empty in lists."""


@dataclass(frozen=True, slots=True)
class Listing:
    objects: list[ObjectInfo]
    folders: list[str]
    next: str | None


class Writer(ABC):
    """An unfinished upload. Nothing is visible before `commit`; `abort` is idempotent."""

    @abstractmethod
    def write(self, data: Bytes) -> None: ...

    @abstractmethod
    def commit(self, sha256: str | None = None) -> ObjectInfo:
        """Make the object visible. Raise BadChecksum and store nothing if the digest differs."""

    @abstractmethod
    def abort(self) -> None: ...


class OpenObject(ABC):
    """An object opened for reading."""

    info: ObjectInfo

    @abstractmethod
    def pieces(self, start: int = 0, size: int | None = None) -> Iterator[bytes]:
        """Yield all bytes, or a range of them. Call it once."""

    @abstractmethod
    def close(self) -> None: ...


class Objects(ABC):
    """A store of objects."""

    @abstractmethod
    def put(self, path: StorePath, sha256: str | None = None) -> Writer:
        """Begin an upload; `commit` replaces the object at this key. `sha256`: the digest, if known."""

    def put_whole(self, path: StorePath, data: Bytes, *, sha256: str | None = None) -> None:
        """Store bytes that are at hand. Raises as `Writer.commit` does.

        Without a digest none is checked, and none may be kept: for bytes that are checked by other means.
        """
        writer = self.put(path, sha256)
        writer.write(data)
        writer.commit(sha256)

    @abstractmethod
    def move_in(self, path: StorePath, file: Path, *, sha256: str) -> ObjectInfo:
        """Store a local file by moving it. Raise BadChecksum if its digest differs."""

    @abstractmethod
    def open(self, path: StorePath, *, is_range: bool = False) -> OpenObject:
        """Open an object. Reads return this object even if it is replaced in the meantime.

        `is_range`: only a part of it will be read.
        """

    def read(self, path: StorePath) -> Iterator[bytes]:
        """Yield the bytes in pieces. Raise NotFound at the call."""
        return self.open(path).pieces()

    def read_whole(self, path: StorePath, max_bytes: int) -> tuple[ObjectInfo, bytes | None]:
        """Read a small object; no bytes when it is larger."""
        with closing(self.open(path)) as found:
            return found.info, b"".join(found.pieces()) if found.info.size <= max_bytes else None

    def read_range(self, path: StorePath, *, start: int, size: int) -> bytes:
        """Read a part of an object; fewer bytes only at its end."""
        with closing(self.open(path, is_range=True)) as found:
            return b"".join(found.pieces(start, size))

    @abstractmethod
    def stat(self, path: StorePath) -> ObjectInfo: ...

    @abstractmethod
    def list(self, bucket: str, *, prefix: str, delimiter: str, after: str, limit: int) -> Listing:
        """List keys after `after`, in order; with a delimiter, deeper keys are grouped into folders."""

    @abstractmethod
    def copy(self, source: StorePath, target: StorePath) -> ObjectInfo:
        """Copy an object over the target, inside the service where possible."""

    @abstractmethod
    def delete(self, path: StorePath) -> bool:
        """Delete one object; False when there was none."""

    @abstractmethod
    def delete_below(self, path: StorePath) -> int:
        """Delete every object whose key starts with the path's key; return how many."""

    def put_many(self, files: Sequence[tuple[StorePath, Bytes, str]]) -> Sequence[DanluError | None]:
        """Store small objects in parallel; return an error for each that was not stored."""

        def put(file: tuple[StorePath, Bytes, str]) -> DanluError | None:
            try:
                path, data, sha256 = file
                self.put_whole(path, data, sha256=sha256)
            except DanluError as error:
                return error
            return None

        with ThreadPoolExecutor(NUM_AT_A_TIME) as pool:
            return list(pool.map(put, files))

    def read_many(self, paths: Sequence[StorePath], max_bytes: int) -> Sequence[tuple[ObjectInfo, bytes | None] | None]:
        """Read small objects in parallel: None for a missing one, no bytes for one that is larger."""

        def read(path: StorePath) -> tuple[ObjectInfo, bytes | None] | None:
            try:
                return self.read_whole(path, max_bytes)
            except NotFound:
                return None

        with ThreadPoolExecutor(NUM_AT_A_TIME) as pool:
            return list(pool.map(read, paths))

    def unfinished(self) -> Iterator[Unfinished]:
        """Multipart uploads that are neither completed nor aborted."""
        return iter(())

    def grants(self) -> Grants | None:
        """Grants for direct transfers; None when all bytes go through the server."""
        return None


@dataclass(frozen=True, slots=True)
class Part:
    size: int
    etag: str


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A multipart upload that was begun and not completed."""

    key: str
    id: str
    begun_at: datetime
    abort: Callable[[], None]


class Grants(ABC):
    """Signed URLs with which clients and stagers transfer bytes directly, each for one request."""

    @abstractmethod
    def sign_get(self, path: StorePath) -> str:
        """A URL that returns the object, valid for a short time."""

    @abstractmethod
    def begin(self, path: StorePath, sha256: str) -> str:
        """Begin a multipart upload; return its id. Nothing is visible before `complete`."""

    @abstractmethod
    def sign_part(self, path: StorePath, upload: str, *, number: int, md5: str) -> str:
        """A URL that accepts one part with this MD5 (base64), valid for a short time."""

    @abstractmethod
    def parts(self, path: StorePath, upload: str) -> dict[int, Part]:
        """Parts that have arrived, by number, from 1."""

    @abstractmethod
    def complete(self, path: StorePath, upload: str, *, parts: dict[int, Part]) -> ObjectInfo: ...

    @abstractmethod
    def abort(self, path: StorePath, upload: str) -> None:
        """Delete a multipart upload and its parts. Idempotent."""


def checked_key(path: StorePath) -> str:
    """The path's key. Raise InvalidInput if it is not valid."""
    try:
        check_key(path.key)
    except ValueError as error:
        raise InvalidInput(str(error), fields={"key": str(error)}) from error
    return path.key


def check_prefix(prefix: str) -> None:
    """Raise InvalidInput for an invalid prefix. It may end within a name."""
    try:
        check_key(prefix, allow_folder=True)
    except ValueError as error:
        raise InvalidInput(f"prefix: {error}", fields={"prefix": str(error)}) from error
