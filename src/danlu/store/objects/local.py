"""Objects as files: one folder per bucket, one file per object."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import BinaryIO

from danlu.errors import BadChecksum, Conflict, InvalidInput, NotFound, StorageFull, Unavailable
from danlu.spec.paths import StorePath, check_bucket
from danlu.store.objects.base import (
    CHUNK_BYTES,
    PARTIAL,
    Bytes,
    Listing,
    ObjectInfo,
    Objects,
    OpenObject,
    Writer,
    check_prefix,
    checked_key,
)
from danlu.store.objects.direct import write_directly

FOLDER_TRIES = 100
WRITE_BYTES = 256 << 10
"""At a time. For 2 MiB and more the kernel takes memory in pieces of 2 MiB. A virtual machine may have returned these
to its host, and to fetch them made writing ten times as expensive."""

SHA256_ATTRIBUTE = "user.danlu.sha256"


class LocalObjects(Objects):
    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, path: StorePath, sha256: str | None = None) -> _LocalWriter:  # noqa: ARG002
        target = self._file(path)
        if target.is_dir() and not _remove_if_empty(target):
            raise Conflict(f"{path} is a folder that contains objects; choose another key")
        return _LocalWriter(target, path, drop_folders=lambda: self._drop_empty_folders(target.parent, path.bucket))

    def put_whole(self, path: StorePath, data: Bytes, *, sha256: str | None = None) -> None:
        """With fewer system calls than a writer needs. Anything unusual is left to the writer and its errors."""
        if sha256 is not None:
            _check(path, sha256, hashlib.sha256(data).hexdigest())
        target = str(self._file(path))
        partial = os.path.join(os.path.dirname(target), f"{PARTIAL}{uuid.uuid4().hex}")
        try:
            try:
                _write_durably(partial, data, sha256)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                _write_durably(partial, data, sha256)
            os.rename(partial, target)
        except OSError:
            with suppress(OSError):
                os.unlink(partial)
            super().put_whole(path, data, sha256=sha256)

    def move_in(self, path: StorePath, file: Path, *, sha256: str) -> ObjectInfo:
        writer = self.put(path)
        writer.adopt(file)
        return writer.commit(sha256)

    def open(self, path: StorePath, *, is_range: bool = False) -> OpenObject:  # noqa: ARG002
        return _LocalObject(path.key, self._open(path))

    def stat(self, path: StorePath) -> ObjectInfo:
        with closing(self.open(path)) as found:
            return found.info

    def list(self, bucket: str, *, prefix: str, delimiter: str, after: str, limit: int) -> Listing:
        if delimiter not in ("", "/"):
            raise InvalidInput(f"delimiter: expected '/' or nothing, got {delimiter!r}")
        check_prefix(prefix)
        objects: list[ObjectInfo] = []
        folders: list[str] = []
        last = ""
        for key, entry in _walk(self._bucket(bucket), prefix, delimiter, after):
            if len(objects) + len(folders) == limit:
                return Listing(objects, folders, next=last)
            last = key
            if entry is None:
                folders.append(key)
            else:
                with suppress(FileNotFoundError):  # deleted in the meantime
                    objects.append(_info(key, entry.stat(), None))
        return Listing(objects, folders, next=None)

    def copy(self, source: StorePath, target: StorePath) -> ObjectInfo:
        writer = self.put(target)
        try:
            with closing(self.open(source)) as found:
                for piece in found.pieces():
                    writer.write(piece)
                known = found.info.sha256
        except BaseException:
            writer.abort()
            raise
        return writer.commit(known)

    def delete(self, path: StorePath) -> bool:
        file = self._file(path)
        try:
            file.unlink()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError):
            return False
        self._drop_empty_folders(file.parent, path.bucket)
        return True

    def delete_below(self, path: StorePath) -> int:
        check_prefix(path.key)
        keys = [key for key, _ in _walk(self._bucket(path.bucket), path.key, "", "")]
        return sum(self.delete(StorePath(path.bucket, key)) for key in keys)

    def _bucket(self, name: str) -> Path:
        check_bucket(name)
        return self._root / name

    def _file(self, path: StorePath) -> Path:
        return self._bucket(path.bucket) / checked_key(path)

    def _open(self, path: StorePath) -> BinaryIO:
        try:
            return self._file(path).open("rb")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise NotFound(f"no object {path}") from error

    def _drop_empty_folders(self, folder: Path, bucket: str) -> None:
        top = self._bucket(bucket)
        while folder != top:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent


class _LocalObject(OpenObject):
    def __init__(self, key: str, file: BinaryIO) -> None:
        self._file = file
        self.info = _info(key, os.fstat(file.fileno()), _read_sha256(file.fileno()))

    def pieces(self, start: int = 0, size: int | None = None) -> Iterator[bytes]:
        yield from _pieces(self._file, start, size)  # a generator of this object, which lives as long as it is needed

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        """A reader who goes away before the first byte never starts `pieces`."""
        self._file.close()


@dataclass
class _LocalWriter(Writer):
    target: Path
    path: StorePath
    drop_folders: Callable[[], None]
    _hash: hashlib._Hash = field(default_factory=hashlib.sha256)

    def __post_init__(self) -> None:
        self._partial = self.target.parent / f"{PARTIAL}{uuid.uuid4().hex}"
        for _ in range(FOLDER_TRIES):
            try:
                self.target.parent.mkdir(parents=True, exist_ok=True)
                self._file: BinaryIO = self._partial.open("xb")
                return
            except FileNotFoundError:  # the folder became empty and was removed in the meantime
                continue
            except (FileExistsError, NotADirectoryError) as error:
                if not any(parent.is_file() for parent in self.target.parents):
                    continue  # a folder that was removed in the meantime
                told = f"{self.path}: a folder of this path is an object; choose another key"
                raise Conflict(told) from error
            except OSError as error:
                raise _full(error, self.path) from error
        raise Unavailable(f"{self.path}: its folder is repeatedly deleted; try again")

    def write(self, data: Bytes) -> None:
        self._hash.update(data)
        view = memoryview(data)
        try:
            for begin in range(0, len(view), WRITE_BYTES):
                self._file.write(view[begin : begin + WRITE_BYTES])
        except OSError as error:
            self.abort()
            raise _full(error, self.path) from error

    def adopt(self, file: Path) -> None:
        """Use a file's bytes by moving it."""
        try:
            self._file.close()
            shutil.move(file, self._partial)
            self._file = self._partial.open("r+b")
            self._hash = hashlib.file_digest(self._file, "sha256")
        except OSError as error:
            self.abort()
            raise _full(error, self.path) from error

    def commit(self, sha256: str | None = None) -> ObjectInfo:
        digest = self._hash.hexdigest()
        try:
            _check(self.path, sha256, digest)
        except BadChecksum:
            self.abort()
            raise
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            _write_sha256(self._file.fileno(), digest)
            status = os.fstat(self._file.fileno())
            self._file.close()
            self._partial.replace(self.target)
        except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
            self.abort()
            raise Conflict(f"{self.path} is a folder that contains objects; choose another key") from error
        except OSError as error:
            self.abort()
            raise _full(error, self.path) from error
        return _info(self.path.key, status, digest)

    def abort(self) -> None:
        with suppress(OSError):  # the last flush fails on a full disk
            self._file.close()
        self._partial.unlink(missing_ok=True)
        self.drop_folders()


def _check(path: StorePath, announced: str | None, digest: str) -> None:
    if announced is not None and announced.lower() != digest:
        raise BadChecksum(f"{path}: expected sha256 {announced}, got {digest}; send it again")


def _write_durably(path: str, data: Bytes, sha256: str | None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        view = memoryview(data)[write_directly(descriptor, data) :]
        while view:
            view = view[os.write(descriptor, view[:WRITE_BYTES]) :]
        os.fsync(descriptor)
        if sha256 is not None:
            _write_sha256(descriptor, sha256.lower())
    finally:
        os.close(descriptor)


def _remove_if_empty(folder: Path) -> bool:
    """Remove a folder that contains only folders, as a killed upload leaves them; False if it contains files."""
    try:
        for path, _, _ in os.walk(folder, topdown=False):
            os.rmdir(path)
    except OSError:
        return False
    return True


def _walk(top: Path, prefix: str, delimiter: str, after: str) -> Iterator[tuple[str, os.DirEntry[str] | None]]:
    """Yield (key, entry) in key order; a grouped folder has no entry. Skips whole folders before `after`."""
    head, _, stem = prefix.rpartition("/")
    yield from _walk_folder(top / head, f"{head}/" if head else "", stem, delimiter, after)


def _walk_folder(
    folder: Path, base: str, stem: str, delimiter: str, after: str
) -> Iterator[tuple[str, os.DirEntry[str] | None]]:
    try:
        with os.scandir(folder) as entries:
            found = [(entry.name + "/" if entry.is_dir() else entry.name, entry) for entry in entries]
    except (FileNotFoundError, NotADirectoryError):
        return
    for name, entry in sorted(found, key=lambda pair: pair[0]):
        key = base + name
        if not name.startswith(stem) or name.startswith(PARTIAL):
            continue
        if not name.endswith("/"):
            if key > after:
                yield key, entry
        elif delimiter:
            if key > after and _holds_objects(Path(entry.path)):
                yield key, None
        elif key > after or after.startswith(key):
            yield from _walk_folder(Path(entry.path), key, "", delimiter, after)


def _holds_objects(folder: Path) -> bool:
    return next(_walk_folder(folder, "", "", "", ""), None) is not None


def _pieces(file: BinaryIO, start: int, size: int | None) -> Iterator[bytes]:
    with file:
        file.seek(start)
        left = size
        while left is None or left > 0:
            piece = file.read(CHUNK_BYTES if left is None else min(CHUNK_BYTES, left))
            if not piece:
                return
            left = None if left is None else left - len(piece)
            yield piece


def _info(key: str, status: os.stat_result, sha256: str | None) -> ObjectInfo:
    version = f"{status.st_mtime:.6f}-{status.st_size}"
    return ObjectInfo(key, status.st_size, datetime.fromtimestamp(status.st_mtime, timezone.utc), sha256, version)


def _full(error: OSError, path: StorePath) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"the store's disk is full: {path} was not stored; free space and send it again")
    if error.errno == errno.ENAMETOOLONG:
        return InvalidInput(f"{path}: the key is too long for this store")
    return error


def _write_sha256(descriptor: int, digest: str) -> None:
    with suppress(OSError):  # not every file system has attributes; then the digest is not kept
        os.setxattr(descriptor, SHA256_ATTRIBUTE, digest.encode())


def _read_sha256(descriptor: int) -> str | None:
    try:
        return os.getxattr(descriptor, SHA256_ATTRIBUTE).decode()
    except OSError:
        return None
