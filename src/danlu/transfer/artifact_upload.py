"""Sends an artifact: files are cut, the server says which chunks it lacks, these are sent, and the whole is committed.

This is the one way in which an artifact reaches the server. What has arrived is not lacking, so sending again after a
break goes on where it was. Memory does not grow with files: missing chunks are read a second time as they are sent.
"""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Optional

from danlu.content.cutting import Cutter, Hashers, Piece
from danlu.content.manifest import Chunk, File, Manifest, Reference, check_paths, digest_of_chunks
from danlu.content.packs import pack
from danlu.transfer.api import Api
from danlu.transfer.carrier import Body, Sendable, Stretch
from danlu.transfer.crew import Crew
from danlu.transfer.errors import Damaged
from danlu.transfer.local_files import Opener, local_problems, open_file
from danlu.transfer.progress import Told, quiet

NUM_PARALLEL = 4
WINDOW_BYTES, WINDOW_CHUNKS = 31 << 20, 1000
"""How many chunks are asked about at a time; what is lacking of them travels in one pack. A server takes 32 MiB at
most, and a pack costs it some milliseconds beside its bytes: small ones were slower."""

COMMIT_SECONDS = 300.0


class Source(NamedTuple):
    path: str
    """In the artifact."""

    local: str
    size: Optional[int] = None
    """What it must have, where that is known: a copy that lost bytes is not sent as if it were whole."""


class ArtifactUpload(NamedTuple):
    """What is to become one version."""

    begin: dict[str, Any]
    """The body of the first request: `artifact` (its id), `name`, `project`, ..."""

    about: dict[str, Any]
    """What the last request says beside the manifest: `labels`, `description`, `aliases`, `created_at`."""

    sources: Sequence[Source]
    references: Sequence[Reference] = ()
    folders: Sequence[str] = ()
    """Empty ones."""


class Sent(NamedTuple):
    version: Optional[dict[str, Any]]
    """As the server answers; None when it was skipped and there is none."""

    size: int
    sent_bytes: int
    """That travelled now."""

    is_skipped: bool = False


class _Located(NamedTuple):
    """A chunk, and where its bytes are."""

    sha256: str
    size: int
    local: str
    offset: int


def send_artifact(
    api: Api,
    upload: ArtifactUpload,
    *,
    told: Told = quiet,
    opened: Opener = open_file,
    num_parallel: int = NUM_PARALLEL,
) -> Sent:
    """Send what the server lacks, and make a version of it.

    Raise ValueError when paths clash, Changed when a file changes meanwhile, LocalProblem, Refused, ServerAway, and
    what `opened` raises.
    """
    paths = [*(source.path for source in upload.sources), *(one.path for one in upload.references)]
    check_paths(paths, upload.folders)
    answer = api.post("/artifacts/uploads", upload.begin)
    if answer.get("version") is not None or answer.get("is_skipped"):
        return Sent(answer.get("version"), 0, 0, bool(answer.get("is_skipped")))
    path = f"/artifacts/uploads/{answer['id']}"
    windows = _Windows(api, path, told, opened)
    with Hashers() as hashers, Crew(windows.settle, num_parallel) as crew:
        windows.crew = crew
        files = tuple(_cut(source, windows, hashers, opened) for source in upload.sources)
        windows.finish()
    manifest = Manifest(files, tuple(upload.references), tuple(upload.folders))
    body = {**upload.about, "manifest": json.loads(manifest.to_json())}
    version = api.post(f"{path}/commit", body, read_seconds=COMMIT_SECONDS)
    return Sent(version, manifest.size, windows.sent_bytes)


def _cut(source: Source, windows: _Windows, hashers: Hashers, opened: Opener) -> File:
    chunks = []
    with opened(source.local) as descriptor:
        mode = os.fstat(descriptor).st_mode
        cutter = Cutter(descriptor, hashers)
        for piece in _readable(source.local, cutter.pieces()):
            chunks.append(Chunk(piece.sha256, piece.size))
            windows.add(_Located(piece.sha256, piece.size, source.local, piece.offset))
    if source.size not in (None, cutter.size):
        raise Damaged(f"{source.local} has {cutter.size} bytes; {source.size} were added: make the artifact again")
    return File(source.path, cutter.size, digest_of_chunks(chunks), tuple(chunks), bool(mode & stat.S_IXUSR))


def _readable(local: str, pieces: Iterator[Piece]) -> Iterator[Piece]:
    while True:
        with local_problems(local):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


class _Windows:
    """Collects chunks, asks about many at a time, and sends what is lacking, several windows at once."""

    def __init__(self, api: Api, path: str, told: Told, opened: Opener) -> None:
        self.crew: Optional[Crew[list[_Located]]] = None
        self.sent_bytes = 0
        self._api = api
        self._path = path
        self._told = told
        self._opened = opened
        self._chunks: list[_Located] = []
        self._num_bytes = 0
        self._asked: set[str] = set()
        self._lock = threading.Lock()

    def add(self, chunk: _Located) -> None:
        if chunk.sha256 in self._asked:
            self._told(chunk.local, chunk.size, False)
            return
        self._asked.add(chunk.sha256)
        if self._num_bytes + chunk.size > WINDOW_BYTES or len(self._chunks) == WINDOW_CHUNKS:
            self.finish()
        self._chunks.append(chunk)
        self._num_bytes += chunk.size

    def finish(self) -> None:
        """Hand over what is left."""
        assert self.crew is not None
        if self._chunks:
            self.crew.put(self._chunks)
        self._chunks, self._num_bytes = [], 0

    def settle(self, window: list[_Located]) -> None:
        """Send what is lacking of a window. Called by the crew."""
        assert self.crew is not None
        api = self._api.until(self.crew.has_failed)
        asked = {"digests": [chunk.sha256 for chunk in window]}
        lacking = set(api.post(f"{self._path}/lacking", asked)["lacking"])
        for chunk in window:
            if chunk.sha256 not in lacking:
                self._told(chunk.local, chunk.size, False)
        if lacking:
            self._send(api, [chunk for chunk in window if chunk.sha256 in lacking])

    def _send(self, api: Api, group: list[_Located]) -> None:
        head = pack([{"sha256": chunk.sha256, "size": chunk.size} for chunk in group], ())
        num_bytes = sum(chunk.size for chunk in group)
        api.send("POST", f"{self._path}/chunks", Body(len(head) + num_bytes, lambda: self._pieces(head, group)))
        with self._lock:
            self.sent_bytes += num_bytes
        for chunk in group:
            self._told(chunk.local, chunk.size, True)

    def _pieces(self, head: bytes, group: list[_Located]) -> Iterator[Sendable]:
        yield head
        for chunk in group:
            with self._opened(chunk.local) as descriptor:
                yield Stretch(chunk.local, descriptor, begin=chunk.offset, size=chunk.size)
