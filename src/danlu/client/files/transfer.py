"""One file up or down: streamed, checked by SHA-256, whole or not at all."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Callable, NamedTuple, Optional

import httpx

from danlu.client.http import Http
from danlu.errors import BadChecksum, Conflict, InvalidInput, ServerUnreachable

PIECE_BYTES = 1 << 20
RESUME_BYTES = 16 << 20
"""An unfinished transfer of at least this size is kept, and taken up again by the next one."""


class Progress(NamedTuple):
    """How far an upload or download of one or many files is."""

    file: str
    """The file that moved last."""

    done_bytes: int
    total_bytes: int
    num_done: int
    num_files: int


class Cancelled(Exception):
    """Somebody does not want the rest any more."""


class Meter:
    """Adds up what several threads move, tells one listener at a time, and ends them all when told to."""

    def __init__(self, listener: Optional[Callable[[Progress], None]], *, total_bytes: int, num_files: int) -> None:
        self._listener = listener
        self._total_bytes = total_bytes
        self._num_files = num_files
        self._done_bytes = 0
        self._num_done = 0
        self._is_cancelled = False
        self._lock = threading.Lock()

    def cancel(self) -> None:
        """Whoever moves something next gets Cancelled."""
        self._is_cancelled = True

    def moved(self, file: str, num_bytes: int) -> None:
        """A negative number takes back what has to be moved again."""
        if self._is_cancelled and num_bytes > 0:
            raise Cancelled
        with self._lock:
            self._done_bytes += num_bytes
            self._tell(file)

    def finished(self, file: str) -> None:
        with self._lock:
            self._num_done += 1
            self._tell(file)

    def _tell(self, file: str) -> None:
        if self._listener is not None:
            self._listener(Progress(file, self._done_bytes, self._total_bytes, self._num_done, self._num_files))


SILENT = Meter(None, total_bytes=0, num_files=0)


def sha256_of(path: Path) -> tuple[str, int]:
    """Digest and size of a file, read in pieces."""
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                digest.update(piece)
                size += len(piece)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    return digest.hexdigest(), size


def read_pieces(path: Path, begin: int, end: int) -> Iterator[bytes]:
    """Bytes of a file from `begin` to exactly `end`, also when it has grown since. Raise BadChecksum when it shrank."""
    with path.open("rb") as file:
        file.seek(begin)
        while begin < end:
            piece = file.read(min(PIECE_BYTES, end - begin))
            if not piece:
                raise BadChecksum(f"{path} changed while it was sent; send it again when nobody writes to it")
            begin += len(piece)
            yield piece


def put_file(
    http: Http, url_path: str, local: Path, *, sha256: str, size: int, meter: Meter = SILENT
) -> httpx.Response:
    """Send a file that has this digest and size.

    The server refuses other bytes than those of the digest: a file that changes meanwhile is not stored, one that
    only grows is stored as it was.
    """

    def once() -> httpx.Response:
        sent_bytes = 0

        def pieces() -> Iterator[bytes]:
            nonlocal sent_bytes
            for piece in read_pieces(local, 0, size):
                yield piece
                sent_bytes += len(piece)
                meter.moved(str(local), len(piece))

        headers = {"X-Danlu-SHA256": sha256, "Content-Length": str(size)}
        try:
            with http.stream("PUT", url_path, headers=headers, content=pieces()) as response:
                response.read()
                return response
        except BaseException:
            meter.moved(str(local), -sent_bytes)
            raise

    return http.retry(once)


def get_file(http: Http, url_path: str, local: Path, *, meter: Meter = SILENT) -> None:
    """Fetch a file. It appears under its name when all of its bytes are there and right, or not at all."""
    local.parent.mkdir(parents=True, exist_ok=True)
    head = http.send("HEAD", url_path)
    size = int(head.headers["Content-Length"])
    expected, etag = head.headers.get("X-Danlu-SHA256"), head.headers.get("ETag", "")
    # what is kept belongs to one version of the object: the name says which
    mark = hashlib.sha256(f"{etag} {size} {expected}".encode()).hexdigest()[:12]
    partial = local.with_name(f".partial.{mark}.{local.name}"[:250])
    try:
        with partial.open("a+b") as file:
            digest = _fetch(http, url_path, file, size=size, etag=etag, moved=lambda num: meter.moved(str(local), num))
        if expected is not None and digest != expected:
            partial.unlink()
            raise BadChecksum(f"{local}: the bytes that arrived have the SHA-256 {digest}, not {expected}; try again")
        os.replace(partial, local)
    except BaseException:
        if size < RESUME_BYTES:
            partial.unlink(missing_ok=True)
        raise


def _fetch(http: Http, url_path: str, file: BinaryIO, *, size: int, etag: str, moved: Callable[[int], None]) -> str:
    """Bring an unfinished file to its size, from wherever it is now, and return the SHA-256 of all of it."""
    digest = hashlib.sha256()
    file.seek(0)
    while piece := file.read(PIECE_BYTES):
        digest.update(piece)
        moved(len(piece))

    def once() -> None:
        begin = file.tell()
        if begin == size:
            return
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={begin}-"} if begin else {})}
        with http.stream_directly(url_path, headers) as response:
            # some services answer 200 to a range, and say in the header what they send
            told = response.headers.get("Content-Range", "")
            is_right = begin == 0 or response.status_code == 206 or told.startswith(f"bytes {begin}-")
            if response.headers.get("ETag", "") != etag or not is_right:
                raise Conflict(f"{url_path.partition('/objects/')[2]} was replaced while it was fetched; try again")
            for piece in response.iter_raw():  # in the sizes they arrive: a larger buffer would be lost in a break
                file.write(piece)
                digest.update(piece)
                moved(len(piece))
        if file.tell() != size:
            raise httpx.ReadError(f"{file.tell()} of {size} bytes came")

    while True:
        before = file.tell()
        try:
            http.retry(once)
        except ServerUnreachable:
            if file.tell() == before:  # as long as bytes come, it goes on
                raise
        else:
            return digest.hexdigest()
