"""Random access to the records of an index."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.files import Name
from danlu_accel.records.index import Entries, Index
from danlu_accel.records.open_files import FetchAgain, OpenFile, OpenFiles
from danlu_accel.records.tfrecord import FRAME_BYTES, unframe


class ShardFiles:
    """The shards of an index in one folder. Safe for many threads."""

    def __init__(
        self, folder: Name, index: Index, *, verify: bool = True, fetch_again: FetchAgain | None = None
    ) -> None:
        self.files = OpenFiles(folder, index.shards, fetch_again)
        self._num_shards = len(index.shards)
        self._verify = verify

    def record(self, entry: Entries) -> memoryview:
        """Return the data of one record, after verifying its checksum."""
        return self.files.use(int(entry["shard"]), lambda file: self._read(file, entry))

    def image(self, entry: Entries) -> memoryview:
        """Return the encoded image of one record."""
        start, size = int(entry["image_at"]), int(entry["image_bytes"])
        return self.record(entry)[start : start + size]

    def descriptors(self, numbers: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.int32], list[OpenFile]]:
        """Return a descriptor per shard number, and the open files: keep these while the descriptors are in use."""
        files = self.files.opened(np.unique(numbers).tolist())
        descriptors = np.empty(self._num_shards, np.int32)
        for number, file in files.items():
            descriptors[number] = file.fd
        return descriptors[numbers], list(files.values())

    def close(self) -> None:
        """Close all files; they are reopened on use."""
        self.files.close()

    def _read(self, file: OpenFile, entry: Entries) -> memoryview:
        name, offset, length = file.path.name, int(entry["offset"]), int(entry["length"])
        raw = file.read(offset, length + FRAME_BYTES)
        data = unframe(raw, verify=self._verify, name=name, begins_at=offset)
        if len(data) != length:
            raise BadRecordFile(
                f"{name}: expected {length} bytes in the record at byte {offset}, as the index says, got {len(data)}; "
                "they are not of one pack"
            )
        return data
