"""Fetches an artifact: chunks in packs, several at a time, each checked; a file appears when it is whole.

What is there is not fetched again: files that are right, and the chunks of a file that a break left unfinished.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from danlu.content.manifest import Chunk, File, Manifest, digest_of, read_manifest
from danlu.transfer.api import Api
from danlu.transfer.crew import Crew
from danlu.transfer.errors import Damaged, LocalProblem
from danlu.transfer.local_files import (
    local_problems,
    make_folder,
    open_file,
    open_unfinished,
    partial_path,
    sha256_of_file,
    write_at,
    write_whole,
)
from danlu.transfer.progress import Told, quiet
from danlu.transfer.trees import unpack_by_digest

NUM_PARALLEL = 4
PACK_BYTES, PACK_CHUNKS = 4 << 20, 1000


class _Place(NamedTuple):
    target: _Target
    chunk: Chunk
    offset: int


class _Target(ABC):
    """A file to fetch. It appears under its name when it is complete."""

    def __init__(self, file: File, path: str) -> None:
        self.file = file
        self.path = path

    def is_there(self) -> bool:
        try:
            if os.path.getsize(self.path) != self.file.size:
                return False
            with open_file(self.path) as descriptor:
                return _is_right(descriptor, self.file, self.path)
        except (OSError, LocalProblem):
            return False

    @abstractmethod
    def begin(self) -> list[_Place]:
        """Return the missing chunks. Without any, the file is complete."""

    @abstractmethod
    def put(self, data: memoryview, offset: int) -> None:
        """Store a chunk whose digest was checked. Called by several threads; the last one completes the file."""

    @abstractmethod
    def close(self) -> None:
        """Release what is open, whether the file is complete or not. Idempotent."""


class _SmallTarget(_Target):
    """A file of one chunk, or of none: written at once."""

    def begin(self) -> list[_Place]:
        make_folder(os.path.dirname(self.path))
        if self.file.chunks:
            return [_Place(self, self.file.chunks[0], 0)]
        self.put(memoryview(b""), 0)
        return []

    def put(self, data: memoryview, offset: int) -> None:  # noqa: ARG002
        write_whole(self.path, data, mark=uuid.uuid4().hex[:12], is_executable=self.file.is_executable)

    def close(self) -> None:
        """Nothing stays open."""


class _LargeTarget(_Target):
    """A file of several chunks: an unfinished one is continued after a break.

    The unfinished file is opened once, and locked: a second process that fetches the same file writes its own.
    """

    def __init__(self, file: File, path: str) -> None:
        super().__init__(file, path)
        self._lock = threading.Lock()
        self._partial = ""
        self._descriptor = -1
        self._left = 0

    def begin(self) -> list[_Place]:
        make_folder(os.path.dirname(self.path))
        self._partial, self._descriptor = open_unfinished(self.path, self.file.mark[:12])
        lacking, offset = [], 0
        with local_problems(self.path):
            has = os.fstat(self._descriptor).st_size
            for chunk in self.file.chunks:
                if offset + chunk.size > has or _digest(os.pread(self._descriptor, chunk.size, offset)) != chunk.sha256:
                    lacking.append(_Place(self, chunk, offset))
                offset += chunk.size
            os.ftruncate(self._descriptor, self.file.size)
        self._left = len(lacking)
        if not lacking:
            self._finish()
        return lacking

    def put(self, data: memoryview, offset: int) -> None:
        with local_problems(self.path):
            write_at(self._descriptor, data, offset)
        with self._lock:
            self._left -= 1
            is_last = self._left == 0
        if is_last:
            self._finish()

    def close(self) -> None:
        if self._descriptor < 0:
            return
        os.close(self._descriptor)
        self._descriptor = -1
        if self._partial != partial_path(self.path, self.file.mark[:12]):
            with suppress(OSError):  # nobody would continue it; it has another name where the file is complete
                os.unlink(self._partial)

    def _finish(self) -> None:
        # chunks were checked as they arrived; a digest of the whole, where there is one, is checked as well
        with local_problems(self.path):
            if self.file.sha256 is not None and not _is_right(self._descriptor, self.file, self.path):
                os.unlink(self._partial)
                raise Damaged(
                    f"{self.path}: its chunks match their digests but the file does not; it changed while it was sent"
                )
            if self.file.is_executable:
                os.fchmod(self._descriptor, stat.S_IMODE(os.fstat(self._descriptor).st_mode) | 0o111)
            try:
                os.replace(self._partial, self.path)
            except FileNotFoundError:
                # where the file system has no locks, another process may have written the same file, and finished it
                if not os.path.samestat(os.stat(self.path), os.fstat(self._descriptor)):
                    raise
        self.close()


def _target(file: File, folder: str) -> _Target:
    path = os.path.join(folder, *file.path.split("/"))
    return _LargeTarget(file, path) if len(file.chunks) > 1 else _SmallTarget(file, path)


def _is_right(descriptor: int, file: File, path: str) -> bool:
    """Whether an open file of the right size has the right bytes."""
    if file.sha256 is not None:
        return sha256_of_file(path, descriptor)[0] == file.sha256
    offset = 0
    for chunk in file.chunks:
        if _digest(os.pread(descriptor, chunk.size, offset)) != chunk.sha256:
            return False
        offset += chunk.size
    return True


def fetch_manifest(api: Api, version_id: str, digest: str) -> Manifest:
    """Raise Damaged when it is not the one of that digest, ValueError when another version of Danlu made it."""
    data = api.fetch("GET", f"/artifacts/versions/{version_id}/manifest")
    if digest_of(data) != digest:
        raise Damaged(f"the manifest of {version_id} arrived with another digest; try again")
    return read_manifest(data)


def make_folders(manifest: Manifest, folder: str) -> None:
    """Make the empty folders of a version."""
    for path in manifest.folders:
        make_folder(os.path.join(folder, *path.split("/")))


def fetch_files(
    api: Api,
    version_id: str,
    files: Sequence[File],
    folder: str,
    *,
    told: Told = quiet,
    num_parallel: int = NUM_PARALLEL,
) -> list[str]:
    """Bring files of a version below a folder, and return their paths. What else is in the folder stays.

    Raise Damaged when other bytes arrive than were asked for, Refused, ServerAway and LocalProblem.
    """
    targets = [_target(file, folder) for file in files]
    url = f"/artifacts/versions/{version_id}/chunks"

    def work(group: list[_Place]) -> None:
        _fetch(api.until(crew.has_failed), url, group, crew.told(told))

    try:
        with Crew(work, num_parallel) as crew:
            for group in _groups(_lacking(targets, told)):
                crew.put(group)
    finally:
        for target in targets:
            target.close()
    return [target.path for target in targets]


def _lacking(targets: Iterable[_Target], told: Told) -> Iterator[_Place]:
    for target in targets:
        if target.is_there():
            told(target.path, target.file.size, False)
            continue
        lacking = target.begin()
        told(target.path, target.file.size - sum(place.chunk.size for place in lacking), False)
        yield from lacking


def _groups(places: Iterable[_Place]) -> Iterator[list[_Place]]:
    group: list[_Place] = []
    num_bytes = 0
    for place in places:
        if group and (num_bytes + place.chunk.size > PACK_BYTES or len(group) == PACK_CHUNKS):
            yield group
            group, num_bytes = [], 0
        group.append(place)
        num_bytes += place.chunk.size
    if group:
        yield group


def _fetch(api: Api, url: str, group: list[_Place], told: Told) -> None:
    wanted: dict[str, list[_Place]] = {}
    for place in group:
        wanted.setdefault(place.chunk.sha256, []).append(place)
    left = list(wanted)
    while left:
        arrived = unpack_by_digest(api.fetch("POST", url, {"digests": left}), wanted)
        for digest, data in arrived.items():
            for place in wanted[digest]:
                if len(data) != place.chunk.size:
                    raise Damaged(f"the chunk {digest} has {len(data)} bytes, {place.chunk.size} were listed")
                place.target.put(data, place.offset)
                told(place.target.path, place.chunk.size, True)
        left = [digest for digest in left if digest not in arrived]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
