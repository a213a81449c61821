"""Write documents of tokens to shards and an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from danlu_accel.records.crc32c import crc32c
from danlu_accel.records.files import Name, whole_file
from danlu_accel.records.index import Shard
from danlu_accel.tokens.index import BLOCK_BYTES, STORED, TokenIndex, write_token_index

Document = Union[Sequence[int], npt.NDArray[Any]]
MAX_TOKEN = {2: (1 << 16) - 1, 4: (1 << 31) - 1}
MAX_DOCUMENT_TOKENS = (1 << 31) - 1


def pack_tokens(
    name: Name, documents: Iterable[Document], *, bytes_per_token: int = 2, shard_megabytes: int = 256
) -> TokenIndex:
    """Write `<name>-00000.bin` and so on, and the index `<name>.tokens`. `name` may begin with a folder.

    A document never spans two shards. `bytes_per_token`: 2 for vocabularies up to 65,536, else 4. Raises ValueError if
    there are no documents, or for one that is empty or has too large tokens.
    """
    if bytes_per_token not in STORED:
        raise ValueError(f"bytes_per_token: expected 2 or 4, got {bytes_per_token}")
    if shard_megabytes < 1:
        raise ValueError(f"shard_megabytes: expected at least 1, got {shard_megabytes}")
    target = Path(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    shards: list[Shard] = []
    counts: list[int] = []
    lengths: list[int] = []
    checksums: list[npt.NDArray[np.uint32]] = []
    source = _checked(documents, bytes_per_token)
    document = next(source, None)
    while document is not None:
        path = target.with_name(f"{target.name}-{len(shards):05d}.bin")
        before = len(lengths)
        with whole_file(path) as file:
            blocks = _Blocks()
            while document is not None and (len(lengths) == before or file.tell() < shard_megabytes << 20):
                raw = document.tobytes()
                file.write(raw)
                blocks.add(raw)
                lengths.append(len(document))
                document = next(source, None)
            shards.append(Shard(path.name, file.tell()))
        counts.append(len(lengths) - before)
        checksums.append(blocks.finish())
    if not shards:
        raise ValueError(f"no documents to pack into {str(name)!r}; expected at least one")
    index = TokenIndex(
        tuple(shards), tuple(counts), bytes_per_token, np.array(lengths, np.uint32), np.concatenate(checksums)
    )
    write_token_index(target.with_name(f"{target.name}.tokens"), index)
    return index


def documents_in(tokens: npt.NDArray[Any], end: int) -> Iterator[npt.NDArray[Any]]:
    """Yield the documents of one long array, each including the token `end` that terminates it.

    For token files of other programs: `documents_in(numpy.memmap("train.bin", "uint16"), 50256)`.
    """
    step = 1 << 24
    open_part: list[npt.NDArray[Any]] = []
    for begin in range(0, len(tokens), step):
        part = np.array(tokens[begin : begin + step])
        first = 0
        for last in np.flatnonzero(part == end).tolist():
            yield np.concatenate([*open_part, part[first : last + 1]])
            open_part, first = [], last + 1
        if first < len(part):
            open_part.append(part[first:])
    if open_part:
        yield np.concatenate(open_part)


class _Blocks:
    """Checksums of a shard that is written in pieces."""

    def __init__(self) -> None:
        self._checksums: list[int] = []
        self._rest = b""

    def add(self, raw: bytes) -> None:
        data = self._rest + raw
        whole = len(data) // BLOCK_BYTES * BLOCK_BYTES
        view = memoryview(data)
        self._checksums += [crc32c(view[at : at + BLOCK_BYTES]) for at in range(0, whole, BLOCK_BYTES)]
        self._rest = data[whole:]

    def finish(self) -> npt.NDArray[np.uint32]:
        last = [crc32c(memoryview(self._rest))] if self._rest else []
        return np.array([*self._checksums, *last], np.uint32)


def _checked(documents: Iterable[Document], bytes_per_token: int) -> Iterator[npt.NDArray[Any]]:
    most = MAX_TOKEN[bytes_per_token]
    for number, document in enumerate(documents):
        tokens = np.asarray(document)
        if tokens.ndim != 1 or not len(tokens) or tokens.dtype.kind not in "iu" or len(tokens) > MAX_DOCUMENT_TOKENS:
            raise ValueError(
                f"document {number}: expected whole numbers in one dimension, at least one, got "
                f"{tokens.dtype} of shape {tokens.shape}"
            )
        low, high = int(tokens.min()), int(tokens.max())
        if low < 0 or high > most:
            wrong = low if low < 0 else high
            raise ValueError(
                f"document {number}: token {wrong}: expected 0 to {most} with bytes_per_token={bytes_per_token}"
            )
        yield tokens.astype(STORED[bytes_per_token])
