"""Open shards. They are read, not mapped: truncating a mapped file would kill the process by SIGBUS.

Instances survive fork and pickling: files are reopened on use. Damaged shards, and copies removed from a cache, are
fetched again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.files import Name
from danlu_accel.records.index import Shard

Answer = TypeVar("Answer")
FetchAgain = Callable[[int], bool]
"""Replaces a damaged shard by a fresh copy; returns False if there is none."""
MAX_FETCHES = 8
"""Limit of fetches for one read of a copy that vanishes: another process may need the space in the cache too."""


class Gone(BadRecordFile):
    """A shard that does not exist."""


class OpenFiles:
    """The shards of one folder, by number. Safe for many threads."""

    def __init__(self, folder: Name, shards: Sequence[Shard], fetch_again: FetchAgain | None = None) -> None:
        self._folder = Path(folder)
        self._shards = tuple(shards)
        self._fetch_again = fetch_again
        self._files: dict[int, OpenFile] = {}
        self._replaced: set[int] = set()
        self._lock, self._lock_pid = threading.Lock(), os.getpid()

    def use(self, number: int, read: Callable[[OpenFile], Answer]) -> Answer:
        """Return the result of `read` on an open shard. If the shard is damaged, fetch it again and repeat."""
        for _ in range(MAX_FETCHES):
            file = self._files.get(number)
            try:
                file = self._open(number)
                return read(file)
            except BadRecordFile as error:
                if not self._is_replaced(number, file, error):
                    raise
        raise BadRecordFile(
            f"{self._shards[number].name}: vanished {MAX_FETCHES} times while it was read; is the cache too small?"
        )

    def opened(self, numbers: Iterable[int]) -> dict[int, OpenFile]:
        """Return an open file per shard number; each stays open while it is referenced."""
        return {number: self.use(number, lambda file: file) for number in numbers}

    def forget(self, number: int) -> None:
        """Close a shard whose copy was removed, to free its disk space."""
        self._files.pop(number, None)

    def close(self) -> None:
        """Close all files; they are reopened on use."""
        self._files, self._replaced = {}, set()

    def _open(self, number: int) -> OpenFile:
        file = self._files.get(number)
        if file is None:
            shard = self._shards[number]
            file = self._files.setdefault(number, OpenFile(self._folder / shard.name, shard.num_bytes))
        return file

    def _is_replaced(self, number: int, file: OpenFile | None, error: BadRecordFile) -> bool:
        """Whether the damaged or missing shard was replaced, by this call or by another thread."""
        if self._lock_pid != os.getpid():  # a thread of the parent may have held the lock
            self._lock, self._lock_pid = threading.Lock(), os.getpid()
        with self._lock:
            if self._files.get(number) is not file:
                return True
            is_gone = isinstance(error, Gone)
            if number in self._replaced and not is_gone:
                raise BadRecordFile(f"{error}; it was fetched again, and is the same where it comes from") from error
            try:
                if self._fetch_again is None or not self._fetch_again(number):
                    return False
            except BadRecordFile as failure:
                raise BadRecordFile(f"{error}; {failure}") from failure
            if not is_gone:
                self._replaced.add(number)
            self._files.pop(number, None)
            return True

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_files": {}, "_replaced": set(), "_lock": None, "_lock_pid": 0}


class OpenFile:
    """A file that stays open while this object exists."""

    def __init__(self, path: Path, expected_bytes: int) -> None:
        self.path = path
        self.num_bytes = expected_bytes
        self.fd = -1
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            size = os.fstat(self.fd).st_size
        except FileNotFoundError as error:
            raise Gone(f"no shard {str(path)!r}: {error.strerror}; the index names it") from error
        except OSError as error:
            raise BadRecordFile(f"no shard {str(path)!r}: {error.strerror}; the index names it") from error
        if size != expected_bytes:
            raise BadRecordFile(
                f"{path.name}: expected {expected_bytes} bytes, as its index says, got {size}; it is cut or of another "
                "pack"
            )

    def read(self, offset: int, size: int) -> memoryview:
        """Return `size` bytes, or fewer at the end of the file."""
        parts: list[bytes] = []
        missing = size
        while missing:
            try:
                part = os.pread(self.fd, missing, offset + size - missing)
            except OSError as error:
                raise BadRecordFile(f"{self.path.name}: cannot be read at byte {offset}: {error.strerror}") from error
            if not part:
                break
            parts.append(part)
            missing -= len(part)
        return memoryview(parts[0] if len(parts) == 1 else b"".join(parts))

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if self.fd >= 0:
            close(self.fd)
