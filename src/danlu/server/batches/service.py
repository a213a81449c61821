"""The rules of batches: each file is stored, or not, as if it had come alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from pydantic import TypeAdapter, ValidationError

from danlu.auth.identity import Identity
from danlu.errors import DanluError, InvalidInput, NotFound, TooLarge
from danlu.server.objects.service import note_object, readable_all, writable_all
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.paths import StorePath
from danlu.wire.batches import (
    MAX_BATCH_BYTES,
    MAX_BATCH_FILES,
    SMALL_BYTES,
    BatchFile,
    BatchOut,
    ReadFile,
    RefusedFile,
    pack,
    unpack,
)

_FILES = TypeAdapter(list[BatchFile])


def put_batch(state: ServerState, who: Identity, bucket: str, body: bytes) -> BatchOut:
    files, rest = _parse(body)
    paths = writable_all(state, who, bucket, [file.key for file in files])

    def store(file: BatchFile, path: StorePath | DanluError, data: memoryview) -> RefusedFile | None:
        try:
            if isinstance(path, DanluError):
                raise path
            writer = state.objects.put(path, file.sha256)
            writer.write(bytes(data))
            writer.commit(file.sha256)
        except DanluError as error:
            return RefusedFile(key=file.key, status=error.status, error=type(error).__name__, message=error.message)
        return None

    done = state.pool.map(store, files, paths, _slices(files, rest))
    refused = [problem for problem in done if problem is not None]
    kept = {file.key for file in files} - {problem.key for problem in refused}
    for path in paths:
        if not isinstance(path, DanluError) and path.key in kept:
            note_object(state, who, Action.OBJECT_PUT, path, count=len(kept))
            break
    return BatchOut(num_stored=len(files) - len(refused), refused=refused)


def read_batch(state: ServerState, who: Identity, bucket: str, keys: list[str]) -> bytes:
    """Answer with the small ones of these objects, up to as much as a batch holds."""
    paths = readable_all(state, who, bucket, keys)
    for path in paths:
        if isinstance(path, DanluError) and not isinstance(path, NotFound):
            raise path
    found = list(state.pool.map(lambda key, path: _read(state, key, path), keys, paths))
    header, pieces, total = [], [], 0
    for file, data in found:
        total += len(data)
        if total > MAX_BATCH_BYTES:
            header.append({"key": file.key})
        else:
            header.append(file.model_dump(exclude_none=True))
            pieces.append(data)
    return pack(header, pieces)


def _read(state: ServerState, key: str, path: StorePath | DanluError) -> tuple[ReadFile, bytes]:
    if isinstance(path, DanluError):
        return ReadFile(key=key, is_missing=True), b""
    try:
        with closing(state.objects.open(path)) as found:
            if found.info.size > SMALL_BYTES:
                return ReadFile(key=key), b""
            data = b"".join(found.pieces())
            return ReadFile(key=key, size=len(data), sha256=found.info.sha256), data
    except NotFound:
        return ReadFile(key=key, is_missing=True), b""


def _parse(body: bytes) -> tuple[list[BatchFile], memoryview]:
    try:
        header, rest = unpack(body)
        files = _FILES.validate_python(header)
    except ValidationError as error:
        one = error.errors()[0]
        raise InvalidInput(f"the batch's header: {'.'.join(str(part) for part in one['loc'])}: {one['msg']}") from error
    except ValueError as error:
        raise InvalidInput(f"the batch cannot be read: {error}") from error
    if len(files) > MAX_BATCH_FILES:
        raise TooLarge(f"{len(files)} files are too many for a batch; up to {MAX_BATCH_FILES} would be right")
    size = sum(file.size for file in files)
    if size != len(rest):
        raise InvalidInput(f"the batch's files have {size} bytes by its header, and {len(rest)} came")
    return files, rest


def _slices(files: list[BatchFile], data: memoryview) -> Iterator[memoryview]:
    begin = 0
    for file in files:
        yield data[begin : begin + file.size]
        begin += file.size
