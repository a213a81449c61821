"""The index of samples: position of each field of each sample, in files that other programs may have written.

at          bytes   content
0           4       magic "DLSX"
4           2       version, 1
6           2       flags, 0
8           8       S, number of samples
16          8       P, number of parts
24          4       J, bytes of the JSON that follows
28          4       crc32c of everything after this header
32          J       JSON: shards [{name, bytes, samples}], fields [name, ...], key_bytes, made_with {...}
pad to 64           zero bytes
...         8 S     samples, see SAMPLE
...         24 P    parts, see PART; those of a sample are contiguous
...         key_bytes   the keys of all samples, UTF-8, one after another
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from danlu_accel.records.crc32c import crc32c
from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.files import Name, write_whole
from danlu_accel.records.index import BAD_JSON, Shard, shards_named

MAGIC = b"DLSX"
VERSION = 1
HEADER = struct.Struct("<4sHHQQII")
ALIGNMENT = 64
MAX_FIELDS = 4096
SAMPLE = np.dtype([("num_parts", "<u4"), ("key_bytes", "<u4")])
PART = np.dtype([("offset", "<u8"), ("length", "<u8"), ("checksum", "<u4"), ("field", "<u4")])
Table = npt.NDArray[np.void]


@dataclass(frozen=True)
class SampleIndex:
    shards: tuple[Shard, ...]
    shard_sizes: tuple[int, ...]
    """Number of samples in each shard."""
    fields: tuple[str, ...]
    samples: Table
    parts: Table
    keys: bytes = b""
    made_with: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def first_parts(self) -> npt.NDArray[np.int64]:
        """Index of the first part of each sample; has one more entry than there are samples."""
        return _starts(self.samples["num_parts"])

    @cached_property
    def first_samples(self) -> npt.NDArray[np.int64]:
        """Index of the first sample of each shard; has one more entry than there are shards."""
        return _starts(np.array(self.shard_sizes, np.int64))

    def shard_of(self, number: int) -> int:
        return int(np.searchsorted(self.first_samples, number, side="right")) - 1

    def key(self, number: int) -> str:
        """Return the name of a sample. Lines have no names: they get their shard and their number in it."""
        begin, end = self._first_keys[number : number + 2].tolist()
        if begin < end:
            return self.keys[begin:end].decode("utf-8", "replace")
        shard = self.shard_of(number)
        return f"{self.shards[shard].name}:{number - int(self.first_samples[shard])}"

    @cached_property
    def name_of_data(self) -> str:
        """A digest of the samples and their order; the same for a local data set and its copy behind a URL."""
        digest = hashlib.sha256(str((self.shard_sizes, self.fields)).encode())
        for table in (self.samples, self.parts):
            digest.update(np.ascontiguousarray(table).tobytes())
        digest.update(self.keys)
        return digest.hexdigest()[:16]

    @cached_property
    def _first_keys(self) -> npt.NDArray[np.int64]:
        return _starts(self.samples["key_bytes"])


def read_sample_index(path: Name) -> SampleIndex:
    """Read an index. Takes 8 bytes of memory per sample, 24 per part, and the keys."""
    path = Path(path)
    try:
        buffer = memoryview(path.read_bytes())  # not mapped: overwriting the index would kill the process by SIGBUS
    except OSError as error:
        raise BadRecordFile(
            f"no index {str(path)!r}: {error.strerror}; index_samples and pack_samples make one"
        ) from error
    return parse_sample_index(buffer, name=str(path))


def parse_sample_index(buffer: memoryview, *, name: str = "index") -> SampleIndex:
    if len(buffer) < HEADER.size or bytes(buffer[:4]) != MAGIC:
        raise BadRecordFile(f"{name}: not an index of samples (it should begin with DLSX)")
    _, version, _, num_samples, num_parts, json_bytes, crc = HEADER.unpack_from(buffer)
    if version > VERSION:
        raise BadRecordFile(f"{name}: format {version}, this danlu-accel reads up to {VERSION}; upgrade danlu-accel")
    if crc32c(buffer[HEADER.size :]) != crc:
        raise BadRecordFile(f"{name}: fails its checksum; the file is cut or damaged")
    try:
        about = json.loads(bytes(buffer[HEADER.size : HEADER.size + json_bytes]))
        shards = shards_named(about["shards"], name)
        sizes = tuple(int(shard["samples"]) for shard in about["shards"])
        fields, key_bytes = tuple(str(each) for each in about["fields"]), int(about["key_bytes"])
        made_with = dict(about["made_with"])
    except BAD_JSON as error:
        raise BadRecordFile(f"{name}: its JSON part cannot be read: {error!r}") from error
    samples_at = _aligned(HEADER.size + json_bytes)
    parts_at = samples_at + num_samples * SAMPLE.itemsize
    keys_at = parts_at + num_parts * PART.itemsize
    if key_bytes < 0 or len(buffer) != keys_at + key_bytes:
        raise BadRecordFile(f"{name}: {len(buffer)} bytes do not hold what its header says; it is cut or damaged")
    samples: Table = np.frombuffer(buffer, SAMPLE, num_samples, samples_at)
    parts: Table = np.frombuffer(buffer, PART, num_parts, parts_at)
    index = SampleIndex(shards, sizes, fields, samples, parts, bytes(buffer[keys_at:]), made_with)
    _check(index, name)
    return index


def write_sample_index(path: Name, index: SampleIndex) -> None:
    """Write an index atomically."""
    about = {
        "shards": [
            {"name": shard.name, "bytes": shard.num_bytes, "samples": count}
            for shard, count in zip(index.shards, index.shard_sizes)
        ],
        "fields": list(index.fields),
        "key_bytes": len(index.keys),
        "made_with": index.made_with,
    }
    text = json.dumps(about, ensure_ascii=False, sort_keys=True).encode()
    padding = bytes(_aligned(HEADER.size + len(text)) - HEADER.size - len(text))
    tables = np.ascontiguousarray(index.samples, SAMPLE).tobytes() + np.ascontiguousarray(index.parts, PART).tobytes()
    body = text + padding + tables + index.keys
    head = HEADER.pack(MAGIC, VERSION, 0, len(index.samples), len(index.parts), len(text), crc32c(body))
    write_whole(Path(path), [head, body])


def _check(index: SampleIndex, name: str) -> None:
    """Reject an inconsistent index, so that later code need not check it."""
    if min(index.shard_sizes, default=0) < 0 or sum(index.shard_sizes) != len(index.samples):
        raise BadRecordFile(f"{name}: {len(index.samples)} samples, {sum(index.shard_sizes)} in its shards")
    for what, column, there in (
        ("parts", "num_parts", len(index.parts)),
        ("bytes of keys", "key_bytes", len(index.keys)),
    ):
        named = int(index.samples[column].sum(dtype=np.uint64))
        if named != there:
            raise BadRecordFile(f"{name}: {there} {what}, its samples name {named}")
    if not len(index.parts):
        return
    if int(index.parts["field"].max()) >= len(index.fields):
        raise BadRecordFile(f"{name}: a part of field {index.parts['field'].max()}, there are {len(index.fields)}")
    sizes = np.array([shard.num_bytes for shard in index.shards], np.uint64)
    shard_of_parts = np.repeat(np.repeat(np.arange(len(sizes)), index.shard_sizes), index.samples["num_parts"])
    limits, offsets = sizes[shard_of_parts], index.parts["offset"]
    if bool((offsets > limits).any() or (index.parts["length"] > limits - np.minimum(offsets, limits)).any()):
        raise BadRecordFile(f"{name}: a part ends behind the end of its shard")


def _starts(counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
