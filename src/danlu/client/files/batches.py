"""Small files to and from the store, many in one request: each is checked, and whole or not there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from danlu.client.files.transfer import Meter
from danlu.client.http import Http
from danlu.content.packs import pack, unpack
from danlu.errors import BadChecksum, InvalidInput, NotFound, Unavailable, from_wire
from danlu.spec.paths import StorePath
from danlu.wire.batches import BATCH_BYTES, BATCH_FILES, SMALL_BYTES, BatchOut, ReadBatch, ReadFile


class Move(NamedTuple):
    local: Path
    remote: StorePath
    size: int


def in_batches(moves: Iterable[Move]) -> Iterator[list[Move]]:
    """Small files together, each large one by itself; all of a list have one bucket."""
    batch: list[Move] = []
    num_bytes = 0
    for move in moves:
        if move.size > SMALL_BYTES:
            yield [move]
            continue
        is_full = len(batch) == BATCH_FILES or num_bytes + move.size > BATCH_BYTES
        if batch and (is_full or batch[0].remote.bucket != move.remote.bucket):
            yield batch
            batch, num_bytes = [], 0
        batch.append(move)
        num_bytes += move.size
    if batch:
        yield batch


def send_batch(http: Http, moves: Sequence[Move], meter: Meter) -> None:
    header, pieces = [], []
    for move in moves:
        try:
            data = move.local.read_bytes()
        except OSError as error:
            raise InvalidInput(f"{move.local} cannot be read: {error.strerror}") from error
        header.append({"key": move.remote.key, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()})
        pieces.append(data)
    path = f"/buckets/{moves[0].remote.bucket}/batches"
    answer = http.send_bytes("POST", path, pack(header, pieces), BatchOut)
    refused = {item.key: item for item in answer.refused}
    for move, data in zip(moves, pieces):
        if move.remote.key not in refused:
            meter.moved(str(move.local), len(data))
            meter.finished(str(move.local))
    for item in answer.refused:
        raise from_wire({"error": item.error, "message": item.message, "fields": {}}, item.status)


def fetch_batch(http: Http, moves: Sequence[Move], meter: Meter) -> list[Move]:
    """Fetch small objects; return those that turned out to be too large for it."""
    wanted = ReadBatch(keys=[move.remote.key for move in moves])
    answer = http.send("POST", f"/buckets/{moves[0].remote.bucket}/reads", body=wanted, is_repeatable=True)
    try:
        header, rest = unpack(answer.content)
    except ValueError as error:
        raise Unavailable(f"{http.url} answered with something that is not a batch: {error}") from error
    large = []
    begin = 0
    for move, item in zip(moves, header):
        file = ReadFile.model_validate(item)
        if file.is_missing:
            raise NotFound(f"there is no object {move.remote}")
        if file.size is None:
            large.append(move)
            continue
        data = rest[begin : begin + file.size]
        begin += file.size
        if len(data) != file.size or (file.sha256 is not None and hashlib.sha256(data).hexdigest() != file.sha256):
            raise BadChecksum(f"{move.local}: other bytes arrived than were sent; try again")
        _write(move.local, data)
        meter.moved(str(move.local), file.size)
        meter.finished(str(move.local))
    return large


def _write(local: Path, data: memoryview) -> None:
    local.parent.mkdir(parents=True, exist_ok=True)
    partial = local.with_name(f".partial.{os.getpid()}.{local.name}"[:250])
    try:
        partial.write_bytes(data)
        os.replace(partial, local)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
