"""Sends an artifact: files are cut, the server says which chunks it lacks, these are sent, and the whole is committed.

What has arrived is not lacking, so sending again after a break goes on where it was. Memory does not grow with files.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Optional

from danlu.content.carrier import Carrier, Damaged, Told, quiet
from danlu.content.cutting import Cutter
from danlu.content.manifest import Chunk, File, Manifest, Reference, check_paths
from danlu.content.packs import pack

NUM_PARALLEL = 4
PACK_BYTES = 4 << 20
WINDOW_BYTES, WINDOW_PIECES = 64 << 20, 1000
"""How many chunks are asked about at a time."""


class Source(NamedTuple):
    path: str
    """In the artifact."""

    local: str


class Sent(NamedTuple):
    version: Optional[dict[str, Any]]
    """As the server answers; None when it was skipped and there is none."""

    size: int
    sent_bytes: int
    """That travelled now."""

    is_skipped: bool = False


class _Located(NamedTuple):
    sha256: str
    size: int
    local: str
    offset: int


def send_artifact(
    carrier: Carrier,
    begin: dict[str, Any],
    about: dict[str, Any],
    sources: Sequence[Source],
    references: Sequence[Reference] = (),
    *,
    told: Told = quiet,
    num_parallel: int = NUM_PARALLEL,
) -> Sent:
    """Upload as one version. `begin` and `about` are the bodies of the first and the last request.

    Raise Damaged when a file changes meanwhile, ValueError when paths clash, and what the carrier raises.
    """
    check_paths([*(source.path for source in sources), *(one.path for one in references)])
    answer = carrier.ask("POST", "/artifacts/uploads", begin)
    if answer.get("version") is not None or answer.get("is_skipped"):
        return Sent(answer.get("version"), 0, 0, bool(answer.get("is_skipped")))
    with ThreadPoolExecutor(num_parallel + 1) as pool:
        windows = _Windows(carrier, str(answer["id"]), pool, told, num_parallel)
        try:
            files = tuple(_cut(source, windows, pool) for source in sources)
            windows.finish()
        except BaseException:
            windows.give_up()
            raise
    manifest = Manifest(files, tuple(references))
    version = carrier.ask("POST", f"/artifacts/uploads/{answer['id']}/commit", {**about, "manifest": _values(manifest)})
    return Sent(version, manifest.size, windows.sent_bytes)


def _values(manifest: Manifest) -> Any:
    import json

    return json.loads(manifest.to_json())


def _cut(source: Source, windows: _Windows, pool: ThreadPoolExecutor) -> File:
    try:
        with open(source.local, "rb", buffering=0) as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise Damaged(f"{source.local} is not a regular file")
            cutter = Cutter(file, pool)
            chunks = []
            for piece in cutter.pieces():
                chunks.append(Chunk(piece.sha256, piece.size))
                windows.add(_Located(piece.sha256, piece.size, source.local, piece.offset))
    except OSError as error:
        raise Damaged(f"{source.local} cannot be read: {error.strerror}") from error
    whole = cutter.whole()
    return File(source.path, whole.size, whole.sha256, tuple(chunks), bool(mode & stat.S_IXUSR))


class _Windows:
    """Collects chunks, asks about many at a time, and sends what is lacking, several windows at once."""

    def __init__(
        self, carrier: Carrier, upload_id: str, pool: ThreadPoolExecutor, told: Told, num_parallel: int
    ) -> None:
        self._carrier = carrier
        self._path = f"/artifacts/uploads/{upload_id}"
        self._pool = pool
        self._told = told
        self._turns = threading.BoundedSemaphore(num_parallel)
        self._num_parallel = num_parallel
        self._pieces: list[_Located] = []
        self._num_bytes = 0
        self._asked: set[str] = set()
        self._problem: Optional[BaseException] = None
        self._lock = threading.Lock()
        self.sent_bytes = 0

    def add(self, piece: _Located) -> None:
        if piece.sha256 in self._asked:
            self._told(piece.local, piece.size, False)
            return
        self._asked.add(piece.sha256)
        self._pieces.append(piece)
        self._num_bytes += piece.size
        if self._num_bytes >= WINDOW_BYTES or len(self._pieces) >= WINDOW_PIECES:
            self._begin()

    def finish(self) -> None:
        """Return when everything has arrived."""
        if self._pieces:
            self._begin()
        for _ in range(self._num_parallel):  # when all turns are free, nobody is at work
            self._turns.acquire()
        self._check()

    def give_up(self) -> None:
        """Let those at work end at their next step."""
        self._problem = self._problem or InterruptedError("somebody else has failed")

    def _begin(self) -> None:
        window, self._pieces, self._num_bytes = self._pieces, [], 0
        self._turns.acquire()  # waits here, so that reading is never far ahead of sending
        self._check()
        self._pool.submit(self._settle, window)

    def _check(self) -> None:
        if self._problem is not None:
            raise self._problem

    def _settle(self, window: list[_Located]) -> None:
        try:
            answer = self._carrier.ask("POST", f"{self._path}/lacking", {"digests": [piece.sha256 for piece in window]})
            lacking = set(answer["lacking"])
            for piece in window:
                if piece.sha256 not in lacking:
                    self._told(piece.local, piece.size, False)
            for group in _groups(piece for piece in window if piece.sha256 in lacking):
                if self._problem is not None:
                    return
                self._send(group)
        except BaseException as problem:
            self._problem = self._problem or problem
        finally:
            self._turns.release()

    def _send(self, group: list[_Located]) -> None:
        header = [{"sha256": piece.sha256, "size": piece.size} for piece in group]
        self._carrier.send(f"{self._path}/chunks", pack(header, [_read(piece) for piece in group]))
        with self._lock:
            self.sent_bytes += sum(piece.size for piece in group)
        for piece in group:
            self._told(piece.local, piece.size, True)


def _groups(pieces: Iterable[_Located]) -> Iterable[list[_Located]]:
    group: list[_Located] = []
    num_bytes = 0
    for piece in pieces:
        if group and num_bytes + piece.size > PACK_BYTES:
            yield group
            group, num_bytes = [], 0
        group.append(piece)
        num_bytes += piece.size
    if group:
        yield group


def _read(piece: _Located) -> bytes:
    with open(piece.local, "rb", buffering=0) as file:
        data = os.pread(file.fileno(), piece.size, piece.offset)
    if len(data) != piece.size:
        raise Damaged(f"{piece.local} changed while it was sent; send it again when nobody writes to it")
    return data
