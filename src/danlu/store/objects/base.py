"""Objects behind one small interface. A key holds a whole object or none.

`local_objects` keeps them in a folder, `s3_objects` in any service that speaks S3. Nothing here relies on conditional
puts: not every service has them, and locks are the database's matter.
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
    """Another one when the key holds other bytes; empty in lists."""


@dataclass(frozen=True, slots=True)
class Listing:
    objects: list[ObjectInfo]
    folders: list[str]
    next: str | None


class Writer(ABC):
    """An upload on its way. Nothing is visible before `commit`; `abort` is quiet at any time."""

    @abstractmethod
    def write(self, data: Bytes) -> None: ...

    @abstractmethod
    def commit(self, sha256: str | None = None) -> ObjectInfo:
        """Make the object visible. Raise BadChecksum, and keep nothing, when the bytes are not the announced ones."""

    @abstractmethod
    def abort(self) -> None: ...


class OpenObject(ABC):
    """An object that is open for reading."""

    info: ObjectInfo

    @abstractmethod
    def pieces(self, start: int = 0, size: int | None = None) -> Iterator[bytes]:
        """Yield the bytes, or a part of them, once."""

    @abstractmethod
    def close(self) -> None: ...


class Objects(ABC):
    """A store of objects."""

    @abstractmethod
    def put(self, path: StorePath, sha256: str | None = None) -> Writer:
        """Begin an upload, of bytes with this digest if it is known. It replaces what the key held, at `commit`."""

    def put_whole(self, path: StorePath, data: Bytes, sha256: str) -> None:
        """Store bytes that are at hand. Raises as `Writer.commit` does."""
        writer = self.put(path, sha256)
        writer.write(data)
        writer.commit(sha256)

    @abstractmethod
    def move_in(self, path: StorePath, file: Path, *, sha256: str) -> ObjectInfo:
        """Make a local file an object; it is gone from its place then. Raise BadChecksum when it is another one."""

    @abstractmethod
    def open(self, path: StorePath, *, is_range: bool = False) -> OpenObject:
        """Open an object: what is read is what was looked at, even if the key holds another one by then.

        `is_range` says that not all of it will be read.
        """

    def read(self, path: StorePath) -> Iterator[bytes]:
        """Yield the bytes in pieces. Raise NotFound before the first one."""
        return self.open(path).pieces()

    def read_whole(self, path: StorePath, max_bytes: int) -> tuple[ObjectInfo, bytes | None]:
        """Read a small object; no bytes when it is larger."""
        with closing(self.open(path)) as found:
            return found.info, b"".join(found.pieces()) if found.info.size <= max_bytes else None

    @abstractmethod
    def stat(self, path: StorePath) -> ObjectInfo: ...

    @abstractmethod
    def list(self, bucket: str, *, prefix: str, delimiter: str, after: str, limit: int) -> Listing:
        """List keys in order, those after `after`; with a delimiter, what lies deeper is folded into folders."""

    @abstractmethod
    def copy(self, source: StorePath, target: StorePath) -> ObjectInfo:
        """Copy an object; it replaces what the target held. The bytes do not pass through here where that can be."""

    @abstractmethod
    def delete(self, path: StorePath) -> bool:
        """Delete one object; False when there was none."""

    @abstractmethod
    def delete_below(self, path: StorePath) -> int:
        """Delete every object whose key begins with the path's; return how many."""

    def put_many(self, files: Sequence[tuple[StorePath, Bytes, str]]) -> Sequence[DanluError | None]:
        """Store small objects with these digests, several at a time; say of each why it is not stored."""

        def put(file: tuple[StorePath, Bytes, str]) -> DanluError | None:
            try:
                self.put_whole(*file)
            except DanluError as error:
                return error
            return None

        with ThreadPoolExecutor(NUM_AT_A_TIME) as pool:
            return list(pool.map(put, files))

    def read_many(self, paths: Sequence[StorePath], max_bytes: int) -> Sequence[tuple[ObjectInfo, bytes | None] | None]:
        """Read small objects, several at a time: None for one that is not there, no bytes for one that is larger."""

        def read(path: StorePath) -> tuple[ObjectInfo, bytes | None] | None:
            try:
                return self.read_whole(path, max_bytes)
            except NotFound:
                return None

        with ThreadPoolExecutor(NUM_AT_A_TIME) as pool:
            return list(pool.map(read, paths))

    def unfinished(self) -> Iterator[Unfinished]:
        """Uploads in parts that a service keeps though nobody may come back to them."""
        return iter(())

    def grants(self) -> Grants | None:
        """What gives others a short-lived right to move bytes by themselves; None when all go through the server."""
        return None


@dataclass(frozen=True, slots=True)
class Part:
    size: int
    etag: str


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An upload in parts that was begun and not finished."""

    key: str
    id: str
    begun_at: datetime
    abort: Callable[[], None]


class Grants(ABC):
    """Lets clients and stagers move bytes to and from the service behind the store, each grant for one thing."""

    @abstractmethod
    def sign_get(self, path: StorePath) -> str:
        """A URL that answers with the object, for a short while."""

    @abstractmethod
    def begin(self, path: StorePath, sha256: str) -> str:
        """Begin an upload in parts, and return its name. Nothing is visible before `complete`."""

    @abstractmethod
    def sign_part(self, path: StorePath, upload: str, *, number: int, md5: str) -> str:
        """A URL that takes one part, for a short while, if the bytes have this MD5 (in base64)."""

    @abstractmethod
    def parts(self, path: StorePath, upload: str) -> dict[int, Part]:
        """The parts that have arrived, by number from 1."""

    @abstractmethod
    def complete(self, path: StorePath, upload: str, *, parts: dict[int, Part]) -> ObjectInfo: ...

    @abstractmethod
    def abort(self, path: StorePath, upload: str) -> None:
        """Forget an upload in parts and what arrived of it. Quiet when there is none."""


def checked_key(path: StorePath) -> str:
    """The path's key, if it can be one."""
    try:
        check_key(path.key)
    except ValueError as error:
        raise InvalidInput(str(error), fields={"key": str(error)}) from error
    return path.key


def check_prefix(prefix: str) -> None:
    """A prefix is the beginning of a key, so it may end in the middle of a name."""
    try:
        check_key(prefix, allow_folder=True)
    except ValueError as error:
        raise InvalidInput(f"prefix: {error}", fields={"prefix": str(error)}) from error
