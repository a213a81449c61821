"""Sends an artifact: files are cut, the server says which chunks it lacks, these are sent, and the whole is committed.

What has arrived is not lacking, so sending again after a break goes on where it was. Memory does not grow with files.
"""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Callable, NamedTuple, Optional

from danlu.content.cutting import Cutter
from danlu.content.manifest import Chunk, File, Manifest, Reference, check_paths
from danlu.content.packs import pack
from danlu.transfer.carrier import Carrier, Damaged, Told, quiet
from danlu.transfer.crew import Crew

NUM_PARALLEL = 4
PACK_BYTES = 4 << 20
WINDOW_BYTES, WINDOW_PIECES = 64 << 20, 1000
"""How many chunks are asked about at a time."""


Opener = Callable[[str], AbstractContextManager[int]]
"""Opens a file for reading: how careful one has to be depends on who could have put it there."""


@contextmanager
def open_file(path: str) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise Damaged(f"{path} cannot be read: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Damaged(f"{path} is not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)


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
    opened: Opener = open_file,
    num_parallel: int = NUM_PARALLEL,
) -> Sent:
    """Upload as one version. `begin` and `about` are the bodies of the first and the last request.

    Raise Damaged when a file changes meanwhile, ValueError when paths clash, and what the carrier raises.
    """
    check_paths([*(source.path for source in sources), *(one.path for one in references)])
    answer = carrier.ask("POST", "/artifacts/uploads", begin)
    if answer.get("version") is not None or answer.get("is_skipped"):
        return Sent(answer.get("version"), 0, 0, bool(answer.get("is_skipped")))
    windows = _Windows(carrier, str(answer["id"]), told, opened)
    with ThreadPoolExecutor(1) as hasher, Crew(windows.settle, num_parallel, rest=carrier.rest) as crew:
        windows.crew = crew
        files = tuple(_cut(source, windows, hasher, opened) for source in sources)
        windows.finish()
    manifest = Manifest(files, tuple(references))
    version = carrier.ask("POST", f"/artifacts/uploads/{answer['id']}/commit", {**about, "manifest": _values(manifest)})
    return Sent(version, manifest.size, windows.sent_bytes)


def _values(manifest: Manifest) -> Any:
    return json.loads(manifest.to_json())


def _cut(source: Source, windows: _Windows, hasher: ThreadPoolExecutor, opened: Opener) -> File:
    with opened(source.local) as descriptor:
        mode = os.fstat(descriptor).st_mode
        cutter = Cutter(descriptor, hasher)
        chunks = []
        for piece in cutter.pieces():
            chunks.append(Chunk(piece.sha256, piece.size))
            windows.add(_Located(piece.sha256, piece.size, source.local, piece.offset))
        whole = cutter.whole()
    return File(source.path, whole.size, whole.sha256, tuple(chunks), bool(mode & stat.S_IXUSR))


class _Windows:
    """Collects chunks, asks about many at a time, and sends what is lacking, several windows at once."""

    def __init__(self, carrier: Carrier, upload_id: str, told: Told, opened: Opener) -> None:
        self.crew: Optional[Crew[list[_Located]]] = None
        self.sent_bytes = 0
        self._carrier = carrier
        self._path = f"/artifacts/uploads/{upload_id}"
        self._told = told
        self._opened = opened
        self._pieces: list[_Located] = []
        self._num_bytes = 0
        self._asked: set[str] = set()
        self._lock = threading.Lock()

    def add(self, piece: _Located) -> None:
        if piece.sha256 in self._asked:
            self._told(piece.local, piece.size, False)
            return
        self._asked.add(piece.sha256)
        self._pieces.append(piece)
        self._num_bytes += piece.size
        if self._num_bytes >= WINDOW_BYTES or len(self._pieces) >= WINDOW_PIECES:
            self.finish()

    def finish(self) -> None:
        """Hand over what is left."""
        assert self.crew is not None
        if self._pieces:
            self.crew.put(self._pieces)
        self._pieces, self._num_bytes = [], 0

    def settle(self, window: list[_Located]) -> None:
        """Send what is lacking of a window. Called by the crew."""
        assert self.crew is not None
        asked = {"digests": [piece.sha256 for piece in window]}
        lacking = set(self._carrier.ask("POST", f"{self._path}/lacking", asked)["lacking"])
        for piece in window:
            if piece.sha256 not in lacking:
                self._told(piece.local, piece.size, False)
        for group in _groups(piece for piece in window if piece.sha256 in lacking):
            self.crew.check()
            self._send(group)

    def _send(self, group: list[_Located]) -> None:
        header = [{"sha256": piece.sha256, "size": piece.size} for piece in group]
        self._carrier.send(f"{self._path}/chunks", pack(header, [self._read(piece) for piece in group]))
        with self._lock:
            self.sent_bytes += sum(piece.size for piece in group)
        for piece in group:
            self._told(piece.local, piece.size, True)

    def _read(self, piece: _Located) -> bytes:
        with self._opened(piece.local) as descriptor:
            data = os.pread(descriptor, piece.size, piece.offset)
        if len(data) != piece.size:
            raise Damaged(f"{piece.local} changed while it was sent; send it again when nobody writes to it")
        return data


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
