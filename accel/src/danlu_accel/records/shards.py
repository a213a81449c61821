"""Open shards for random access by mmap. Handles survive fork and pickling: they are opened again where used."""

from __future__ import annotations

import mmap
from pathlib import Path

from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.files import Name
from danlu_accel.records.index import Entries, Index
from danlu_accel.records.tfrecord import read_at


class MappedShards:
    """The shards of an index in one folder."""

    def __init__(self, folder: Name, index: Index, *, verify: bool = True) -> None:
        self._folder = Path(folder)
        self._shards = index.shards
        self._verify = verify
        self._maps: dict[int, memoryview] = {}

    @property
    def num_shards(self) -> int:
        return len(self._shards)

    def record(self, entry: Entries) -> memoryview:
        """Return the data of one record, its checksum verified."""
        number = int(entry["shard"])
        name = self._shards[number].name
        return read_at(self._map(number), int(entry["offset"]), verify=self._verify, name=name)

    def image(self, entry: Entries) -> memoryview:
        """Return the encoded image of one record."""
        data = self.record(entry)
        start, size = int(entry["image_at"]), int(entry["image_bytes"])
        if len(data) != int(entry["length"]) or start + size > len(data):
            name = self._shards[int(entry["shard"])].name
            raise BadRecordFile(
                f"{name}: the index and the record at byte {entry['offset']} disagree; they are not of one pack"
            )
        return data[start : start + size]

    def path(self, number: int) -> Path:
        return self._folder / self._shards[number].name

    def _map(self, number: int) -> memoryview:
        found = self._maps.get(number)
        if found is None:
            found = self._maps[number] = _mapped(self.path(number), self._shards[number].num_bytes)
        return found

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_maps": {}}


def _mapped(path: Path, expected_bytes: int | None) -> memoryview:
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            buffer = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")
    except OSError as error:
        raise BadRecordFile(f"no shard {str(path)!r}: {error.strerror}; the index names it") from error
    if expected_bytes is not None and size != expected_bytes:
        raise BadRecordFile(
            f"{path.name}: has {size} bytes, its index says {expected_bytes}; it is cut or of another pack"
        )
    return buffer
