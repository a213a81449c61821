"""Read runs of tokens from open shards into one array."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from danlu_accel.records import native
from danlu_accel.records.crc32c import crc32c
from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.files import Name
from danlu_accel.records.open_files import FetchAgain, OpenFile, OpenFiles
from danlu_accel.tokens.index import BLOCK_BYTES, STORED, TokenIndex
from danlu_accel.tokens.sequences import Runs

# The C++ counterpart is TokenRun in native/tokens.h.
RUN = np.dtype(
    [("fd", "<i4"), ("count", "<u4"), ("first", "<u8"), ("to", "<u8"), ("shard_bytes", "<u8"), ("checksums_at", "<u8")]
)


class TokenFiles:
    """The shards of an index in one folder. Safe for many threads."""

    def __init__(self, folder: Name, index: TokenIndex, *, verify: bool = True, fetch_again: FetchAgain | None) -> None:
        self.files = OpenFiles(folder, index.shards, fetch_again)
        self._index = index
        self._verify = verify
        self._shard_bytes = np.array([shard.num_bytes for shard in index.shards], np.uint64)
        self._checksums_at = np.array(index.first_checksums[:-1], np.uint64)

    def read(self, runs: Runs, out: npt.NDArray[Any]) -> None:
        """Fill the flat array `out` with these runs. Raises BadRecordFile if one is damaged."""
        read = getattr(native.core, "read_tokens", None)  # None in a core from before tokens were supported
        left = range(len(runs.first)) if read is None else self._read_by_core(read, runs, out)
        for number in left:
            shard, first, count, to = (int(column[number]) for column in runs)
            read_run = partial(self._read_run, shard=shard, first=first, count=count)
            out[to : to + count] = self.files.use(shard, read_run)

    def _read_by_core(self, read: Any, runs: Runs, out: npt.NDArray[Any]) -> Any:
        """Return the runs that the core could not read."""
        files = self.files.opened(np.unique(runs.shard).tolist())
        descriptors = np.zeros(len(self._shard_bytes), np.int32)
        for number, file in files.items():
            descriptors[number] = file.fd
        items = np.empty(len(runs.first), RUN)
        items["fd"] = descriptors[runs.shard]
        items["count"], items["first"], items["to"] = runs.num_tokens, runs.first, runs.to
        items["shard_bytes"], items["checksums_at"] = self._shard_bytes[runs.shard], self._checksums_at[runs.shard]
        status = np.zeros(len(items), np.int32)
        checksums = self._index.checksums if self._verify else None
        read(items.view(np.uint8), self._index.bytes_per_token, checksums, out, status)
        del files  # keep the files open until here, even if a shard is removed from the cache
        return np.flatnonzero(status).tolist()

    def _read_run(self, file: OpenFile, *, shard: int, first: int, count: int) -> npt.NDArray[Any]:
        size = self._index.bytes_per_token
        begin, end = first * size, (first + count) * size
        start, stop = begin // BLOCK_BYTES * BLOCK_BYTES, min(-(-end // BLOCK_BYTES) * BLOCK_BYTES, file.num_bytes)
        raw = file.read(start, stop - start)
        if len(raw) != stop - start:
            raise BadRecordFile(f"{file.path.name}: ends at byte {start + len(raw)}, expected {stop}; it was cut")
        if self._verify:
            at = self._index.first_checksums[shard] + start // BLOCK_BYTES
            for offset in range(0, len(raw), BLOCK_BYTES):
                if crc32c(raw[offset : offset + BLOCK_BYTES]) != self._index.checksums[at + offset // BLOCK_BYTES]:
                    raise BadRecordFile(
                        f"{file.path.name}: the {BLOCK_BYTES} bytes at {start + offset} fail their checksum"
                    )
        tokens: npt.NDArray[Any] = np.frombuffer(raw[begin - start : end - start], STORED[size])
        return tokens

    def close(self) -> None:
        """Close all files; they are reopened on use."""
        self.files.close()
