"""The index of token shards. A shard holds only tokens, little-endian, one document after another.

at          bytes   content
0           4       magic "DLTX"
4           2       version, 1
6           2       flags, 0
8           8       D, number of documents
16          8       B, number of blocks
24          4       J, bytes of the JSON that follows
28          4       crc32c of everything after this header
32          J       JSON: bytes_per_token, shards [{name, bytes, documents}], made_with {...}
pad to 64           zero bytes
...         4 D     length of each document in tokens
...         4 B     crc32c of each block of 2,048 bytes; the last block of a shard may be shorter
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

MAGIC = b"DLTX"
VERSION = 1
HEADER = struct.Struct("<4sHHQQII")
ALIGNMENT = 64
BLOCK_BYTES = 2048
"""The C++ counterpart is token_block_bytes in native/tokens.h."""
STORED: dict[int, np.dtype[Any]] = {2: np.dtype("<u2"), 4: np.dtype("<u4")}
Counts = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class TokenIndex:
    shards: tuple[Shard, ...]
    documents: tuple[int, ...]
    """Number of documents in each shard."""
    bytes_per_token: int
    lengths: Counts
    """Tokens per document, in the order of the shards."""
    checksums: Counts
    made_with: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def tokens(self) -> tuple[int, ...]:
        """Number of tokens in each shard."""
        return tuple(shard.num_bytes // self.bytes_per_token for shard in self.shards)

    @cached_property
    def first_documents(self) -> tuple[int, ...]:
        """Index in `lengths` of the first document of each shard."""
        return tuple(np.concatenate([[0], np.cumsum(self.documents)]).astype(int).tolist())

    @cached_property
    def first_checksums(self) -> tuple[int, ...]:
        """Index in `checksums` of the first block of each shard."""
        return tuple(np.concatenate([[0], np.cumsum([_blocks(shard) for shard in self.shards])]).astype(int).tolist())

    @cached_property
    def name_of_data(self) -> str:
        """A digest of content and layout; the same for a local data set and its copy behind a URL."""
        digest = hashlib.sha256(str((self.bytes_per_token, self.documents)).encode())
        digest.update(np.ascontiguousarray(self.lengths).tobytes())
        digest.update(np.ascontiguousarray(self.checksums).tobytes())
        return digest.hexdigest()[:16]


def read_token_index(path: Name) -> TokenIndex:
    """Read an index. Takes 4 bytes of memory per document and per 2,048 bytes of tokens."""
    path = Path(path)
    try:
        buffer = memoryview(path.read_bytes())  # not mapped: overwriting the index would kill the process by SIGBUS
    except OSError as error:
        raise BadRecordFile(f"no index {str(path)!r}: {error.strerror}; pack_tokens makes one") from error
    return parse_token_index(buffer, name=str(path))


def parse_token_index(buffer: memoryview, *, name: str = "index") -> TokenIndex:
    if len(buffer) < HEADER.size or bytes(buffer[:4]) != MAGIC:
        raise BadRecordFile(f"{name}: not an index of token shards (it should begin with DLTX)")
    _, version, _, num_documents, num_blocks, json_bytes, crc = HEADER.unpack_from(buffer)
    if version > VERSION:
        raise BadRecordFile(f"{name}: format {version}, this danlu-accel reads up to {VERSION}; upgrade danlu-accel")
    lengths_at = _aligned(HEADER.size + json_bytes)
    if len(buffer) != lengths_at + 4 * (num_documents + num_blocks):
        raise BadRecordFile(f"{name}: {len(buffer)} bytes do not hold what its header says; it is cut or damaged")
    if crc32c(buffer[HEADER.size :]) != crc:
        raise BadRecordFile(f"{name}: fails its checksum; the file is damaged")
    try:
        about = json.loads(bytes(buffer[HEADER.size : HEADER.size + json_bytes]))
        shards = shards_named(about["shards"], name)
        documents = tuple(int(shard["documents"]) for shard in about["shards"])
        bytes_per_token, made_with = int(about["bytes_per_token"]), dict(about["made_with"])
    except BAD_JSON as error:
        raise BadRecordFile(f"{name}: its JSON part cannot be read: {error!r}") from error
    lengths = np.frombuffer(buffer, "<u4", num_documents, lengths_at)
    checksums = np.frombuffer(buffer, "<u4", num_blocks, lengths_at + 4 * num_documents)
    index = TokenIndex(shards, documents, bytes_per_token, lengths, checksums, made_with)
    _check(index, name)
    return index


def write_token_index(path: Name, index: TokenIndex) -> None:
    """Write an index atomically."""
    about = {
        "bytes_per_token": index.bytes_per_token,
        "shards": [
            {"name": shard.name, "bytes": shard.num_bytes, "documents": count}
            for shard, count in zip(index.shards, index.documents)
        ],
        "made_with": index.made_with,
    }
    text = json.dumps(about, ensure_ascii=False, sort_keys=True).encode()
    padding = bytes(_aligned(HEADER.size + len(text)) - HEADER.size - len(text))
    tables = index.lengths.astype("<u4").tobytes() + index.checksums.astype("<u4").tobytes()
    body = text + padding + tables
    head = HEADER.pack(MAGIC, VERSION, 0, len(index.lengths), len(index.checksums), len(text), crc32c(body))
    write_whole(Path(path), [head, body])


def _check(index: TokenIndex, name: str) -> None:
    """Reject an inconsistent index, so that later code need not check it."""
    if index.bytes_per_token not in STORED:
        raise BadRecordFile(f"{name}: bytes_per_token: expected 2 or 4, got {index.bytes_per_token}")
    if min(index.documents, default=0) < 0 or sum(index.documents) != len(index.lengths):
        raise BadRecordFile(f"{name}: {len(index.lengths)} lengths for {sum(index.documents)} documents")
    if index.first_checksums[-1] != len(index.checksums):
        raise BadRecordFile(f"{name}: {len(index.checksums)} checksums for {index.first_checksums[-1]} blocks")
    for number, shard in enumerate(index.shards):
        first, last = index.first_documents[number : number + 2]
        held = int(index.lengths[first:last].sum(dtype=np.uint64)) * index.bytes_per_token
        if held != shard.num_bytes:
            raise BadRecordFile(f"{name}: the documents of {shard.name} have {held} bytes, it has {shard.num_bytes}")


def _blocks(shard: Shard) -> int:
    return -(-shard.num_bytes // BLOCK_BYTES)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
