"""Open shards for random access, by reads and not by a memory map: a shard that shrinks is an error, and no SIGBUS.

Open files survive a fork, and pickling: they are opened again where they are used.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.files import Name
from danlu_accel.records.index import Entries, Index
from danlu_accel.records.tfrecord import FRAME_BYTES, unframe

Answer = TypeVar("Answer")
FetchAgain = Callable[[int], bool]
"""Put a fresh copy of a damaged shard in its place; False if there is none to be had."""


class ShardFiles:
    """The shards of an index in one folder. Safe for many threads."""

    def __init__(
        self, folder: Name, index: Index, *, verify: bool = True, fetch_again: FetchAgain | None = None
    ) -> None:
        self._folder = Path(folder)
        self._shards = index.shards
        self._verify = verify
        self._fetch_again = fetch_again
        self._files: dict[int, _File] = {}
        self._replaced: dict[int, _File | None] = {}
        """Damaged files, by shard: kept open, since a thread may still read there."""
        self._lock, self._lock_pid = threading.Lock(), os.getpid()

    def record(self, entry: Entries) -> memoryview:
        """Return the data of one record, its checksum verified."""
        return self._with_sound(int(entry["shard"]), lambda file: self._read(file, entry))

    def image(self, entry: Entries) -> memoryview:
        """Return the encoded image of one record."""
        start, size = int(entry["image_at"]), int(entry["image_bytes"])
        return self.record(entry)[start : start + size]

    def descriptors(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Return an open file per shard number; they stay open until `close`."""
        opened = np.empty(len(self._shards), np.int32)
        for number in np.unique(numbers).tolist():
            opened[number] = self._with_sound(number, lambda file: file.fd)
        chosen: npt.NDArray[np.int32] = opened[numbers]
        return chosen

    def close(self) -> None:
        """Close all files; they are opened again when they are used."""
        self._files, self._replaced = {}, {}

    def _with_sound(self, number: int, use: Callable[[_File], Answer]) -> Answer:
        """Return what `use` makes of an open shard; where it is damaged, of a copy that was fetched again."""
        while True:
            file = self._files.get(number)
            try:
                file = self._open(number)
                return use(file)
            except BadRecordFile as error:
                if not self._is_replaced(number, file, error):
                    raise

    def _open(self, number: int) -> _File:
        file = self._files.get(number)
        if file is None:
            shard = self._shards[number]
            file = self._files.setdefault(number, _File(self._folder / shard.name, shard.num_bytes))
        return file

    def _read(self, file: _File, entry: Entries) -> memoryview:
        name, offset, length = file.path.name, int(entry["offset"]), int(entry["length"])
        raw = file.read(offset, length + FRAME_BYTES)
        data = unframe(raw, verify=self._verify, name=name, begins_at=offset)
        if len(data) != length:
            raise BadRecordFile(
                f"{name}: expected {length} bytes in the record at byte {offset}, as the index says, got {len(data)}; "
                "they are not of one pack"
            )
        return data

    def _is_replaced(self, number: int, file: _File | None, error: BadRecordFile) -> bool:
        """Whether there is another copy of the shard now than the one that was found damaged."""
        if self._lock_pid != os.getpid():  # a thread of the parent may have held it
            self._lock, self._lock_pid = threading.Lock(), os.getpid()
        with self._lock:
            if self._files.get(number) is not file:
                return True
            if number in self._replaced:
                raise BadRecordFile(f"{error}; it was fetched again, and is the same where it comes from") from error
            try:
                if self._fetch_again is None or not self._fetch_again(number):
                    return False
            except BadRecordFile as failure:
                raise BadRecordFile(f"{error}; {failure}") from failure
            self._replaced[number] = self._files.pop(number, None)
            return True

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_files": {}, "_replaced": {}, "_lock": None, "_lock_pid": 0}


class _File:
    """A file that is open for as long as this lives."""

    def __init__(self, path: Path, expected_bytes: int) -> None:
        self.path = path
        self.fd = -1
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            size = os.fstat(self.fd).st_size
        except OSError as error:
            raise BadRecordFile(f"no shard {str(path)!r}: {error.strerror}; the index names it") from error
        if size != expected_bytes:
            raise BadRecordFile(
                f"{path.name}: expected {expected_bytes} bytes, as its index says, got {size}; it is cut or of another "
                "pack"
            )

    def read(self, offset: int, size: int) -> memoryview:
        """Return `size` bytes, or fewer where the file ends."""
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
