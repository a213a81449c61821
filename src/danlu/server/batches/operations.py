"""Batches of small files: each file is stored or rejected on its own. No transaction is open while bytes move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter, ValidationError

from danlu.auth import rights
from danlu.auth.identity import Identity
from danlu.content.packs import SMALL_BYTES, pack, unpack
from danlu.errors import DanluError, InvalidInput, TooLarge
from danlu.server.objects.located import Located, readable_all, writable_all
from danlu.server.objects.operations import record_put
from danlu.server.state import ServerState
from danlu.store.objects.base import Bytes
from danlu.wire.batches import (
    MAX_BATCH_BYTES,
    MAX_BATCH_FILES,
    BatchFile,
    BatchOut,
    RefusedFile,
)

_FILES = TypeAdapter(list[BatchFile])


def put_batch(state: ServerState, who: Identity, bucket: str, body: Bytes) -> BatchOut:
    files, rest = _parse(body)
    places = state.database.read(writable_all, who, bucket, [file.key for file in files])
    problems: dict[str, DanluError] = {}
    allowed: list[Located] = []
    wanted = []
    for file, where, data in zip(files, places, _slices(files, rest), strict=True):
        if isinstance(where, DanluError):
            problems[file.key] = where
        else:
            allowed.append(where)
            wanted.append((where.stored, data, file.sha256))
    for where, problem in zip(allowed, state.objects.put_many(wanted), strict=True):
        if problem is not None:
            problems[where.path.key] = problem
    refused = [
        RefusedFile(key=key, status=error.status, error=type(error).__name__, message=error.message)
        for key, error in problems.items()
    ]
    stored = [where for where in allowed if where.path.key not in problems]
    outputs = {where for where in stored if rights.is_output(who, where.path, where.bucket)}
    for group in (list(outputs), [where for where in stored if where not in outputs]):
        if group:
            record_put(state, who, group[0], count=len(group))
    return BatchOut(num_stored=len(files) - len(refused), refused=refused)


def read_batch(state: ServerState, who: Identity, bucket: str, keys: list[str]) -> bytes:
    """Return the small ones of these objects, up to the size of a batch."""
    paths = []
    for where in state.database.read(readable_all, who, bucket, keys):
        if isinstance(where, DanluError):
            raise where
        paths.append(where.stored)
    header: list[dict[str, Any]] = []
    pieces: list[bytes] = []
    total = 0
    for key, found in zip(keys, state.objects.read_many(paths, SMALL_BYTES), strict=True):
        if found is None:
            header.append({"key": key, "is_missing": True})
            continue
        info, data = found
        total += len(data or b"")
        if data is None or total > MAX_BATCH_BYTES:
            header.append({"key": key})
        else:
            header.append({"key": key, "size": len(data), "sha256": info.sha256})
            pieces.append(data)
    return pack(header, pieces)


def _parse(body: Bytes) -> tuple[list[BatchFile], memoryview]:
    try:
        header, rest = unpack(body)
        files = _FILES.validate_python(header)
    except ValidationError as error:
        one = error.errors()[0]
        raise InvalidInput(f"the batch's header: {'.'.join(str(part) for part in one['loc'])}: {one['msg']}") from error
    except ValueError as error:
        raise InvalidInput(f"the batch cannot be read: {error}") from error
    if len(files) > MAX_BATCH_FILES:
        raise TooLarge(f"{len(files)} files are too many for a batch; expected up to {MAX_BATCH_FILES}")
    size = sum(file.size for file in files)
    if size != len(rest):
        raise InvalidInput(f"the batch's files have {size} bytes by its header, and {len(rest)} came")
    return files, rest


def _slices(files: list[BatchFile], data: memoryview) -> Iterator[memoryview]:
    begin = 0
    for file in files:
        yield data[begin : begin + file.size]
        begin += file.size
