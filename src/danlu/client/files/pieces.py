"""Large files to the store, taken up where a broken connection or an ended program left off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from danlu.client.files.parts import send_parts
from danlu.client.files.paths import object_path
from danlu.client.files.transfer import Meter, read_pieces
from danlu.client.http import BROKEN, READ_SECONDS, Http
from danlu.errors import BadChecksum, DanluError, NotFound, WrongState
from danlu.spec.paths import StorePath
from danlu.wire.store import BeginUpload, ObjectOut, UploadOut

_SLOWEST_BYTES_PER_SECOND = 20e6
"""The server reads all bytes once more before it answers; a disk that is busy or far away may be this slow."""


def put_in_pieces(http: Http, where: StorePath, local: Path, *, sha256: str, size: int, meter: Meter) -> None:
    """Send a file that has this digest and size. The server keeps what arrived, for the next try."""
    begun = http.post(
        f"/buckets/{where.bucket}/uploads",
        UploadOut,
        body=BeginUpload(key=where.key, size=size, sha256=sha256, direct=http.is_direct),
        is_repeatable=True,
    )
    if begun.part_bytes is not None:
        if send_parts(http, begun, local, meter=meter):
            _commit(http, begun.id, where, sha256=sha256, size=size)
        else:
            put_in_pieces(http, where, local, sha256=sha256, size=size, meter=meter)
        return
    meter.moved(str(local), begun.offset)
    offset = begun.offset
    while offset < size:
        arrived = _send_rest(http, begun.id, local, offset=offset, size=size, meter=meter)
        if arrived <= offset:
            raise WrongState(f"{local}: the server takes nothing beyond {offset} of {size} bytes; try again")
        offset = arrived
    _commit(http, begun.id, where, sha256=sha256, size=size)


def _send_rest(http: Http, upload_id: str, local: Path, *, offset: int, size: int, meter: Meter) -> int:
    """Send from the offset; return how much has arrived, all of it or what a broken connection let through."""
    sent = 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        for piece in read_pieces(local, offset, size):
            yield piece
            sent += len(piece)
            meter.moved(str(local), len(piece))

    try:
        with http.stream("PUT", f"/uploads/{upload_id}", query={"offset": offset}, content=pieces()) as response:
            response.read()
    except BROKEN:
        pass  # what counts is what arrived, and the server says so below
    arrived = http.get(f"/uploads/{upload_id}", UploadOut).offset
    meter.moved(str(local), arrived - offset - sent)
    return arrived


def commit_seconds(size: int) -> float:
    """How long to wait for the answer that an object of this size is whole."""
    return READ_SECONDS + size / _SLOWEST_BYTES_PER_SECOND


def _commit(http: Http, upload_id: str, where: StorePath, *, sha256: str, size: int) -> None:
    try:
        http.post(f"/uploads/{upload_id}/commit", ObjectOut, is_repeatable=True, read_seconds=commit_seconds(size))
    except NotFound as error:
        # committed already, if only the answer was lost
        if not _is_there(http, where, sha256):
            raise BadChecksum(f"{where}: the upload is gone; send it again") from error


def _is_there(http: Http, where: StorePath, sha256: str) -> bool:
    try:
        return bool(http.send("HEAD", object_path(where)).headers.get("X-Danlu-SHA256") == sha256)
    except DanluError:
        return False
