"""Fetches an artifact: chunks in packs, several at a time, each checked; a file appears when it is whole.

What is there is not fetched again: files that are right, and the chunks of a file that a break left unfinished.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from danlu.content.manifest import Chunk, File, Manifest, digest_of, read_manifest
from danlu.transfer.api import Api
from danlu.transfer.crew import Crew
from danlu.transfer.errors import Damaged, LocalProblem
from danlu.transfer.local_files import local_problems, make_folder, open_file, partial_path, sha256_of_file, write_at
from danlu.transfer.progress import Told, quiet
from danlu.transfer.trees import unpack_by_digest

NUM_PARALLEL = 4
PACK_BYTES, PACK_CHUNKS = 4 << 20, 1000


class _Place(NamedTuple):
    target: _Target
    chunk: Chunk
    offset: int


class _Target:
    """A file on its way. It has its name when all of it is there and right."""

    def __init__(self, file: File, path: str) -> None:
        self.file = file
        self.path = path
        self.partial = partial_path(path, file.mark[:12])
        self._left = len(file.chunks)
        self._lock = threading.Lock()

    def is_there(self) -> bool:
        try:
            return os.path.getsize(self.path) == self.file.size and self._is_right(self.path)
        except (OSError, LocalProblem):
            return False

    def begin(self) -> list[_Place]:
        """Make the partial file, and return what it lacks."""
        make_folder(os.path.dirname(self.path))
        lacking, offset = [], 0
        with self._writing() as descriptor:
            has = os.fstat(descriptor).st_size
            for chunk in self.file.chunks:
                if offset + chunk.size > has or _digest(os.pread(descriptor, chunk.size, offset)) != chunk.sha256:
                    lacking.append(_Place(self, chunk, offset))
                offset += chunk.size
            os.ftruncate(descriptor, self.file.size)
        self._left = len(lacking)
        return lacking

    def put(self, data: memoryview, offset: int) -> None:
        with self._writing() as descriptor:
            write_at(descriptor, data, offset)
        with self._lock:
            self._left -= 1
            is_last = self._left == 0
        if is_last:
            self.finish()

    def finish(self) -> None:
        # chunks were checked as they came; a digest of the whole, where there is one, is checked as well
        if len(self.file.chunks) != 1 and self.file.sha256 is not None and not self._is_right(self.partial):
            os.unlink(self.partial)
            raise Damaged(
                f"{self.path}: its chunks are right, and the whole of them is not; it was sent while it changed"
            )
        with local_problems(self.path):
            if self.file.is_executable:
                os.chmod(self.partial, stat.S_IMODE(os.stat(self.partial).st_mode) | 0o111)
            os.replace(self.partial, self.path)

    def _is_right(self, path: str) -> bool:
        """Whether a file of the right size has the right bytes."""
        with open_file(path) as descriptor:
            if self.file.sha256 is not None:
                return sha256_of_file(path, descriptor)[0] == self.file.sha256
            offset = 0
            for chunk in self.file.chunks:
                if _digest(os.pread(descriptor, chunk.size, offset)) != chunk.sha256:
                    return False
                offset += chunk.size
            return True

    @contextmanager
    def _writing(self) -> Iterator[int]:
        with local_problems(self.path):
            descriptor = os.open(self.partial, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                yield descriptor
            finally:
                os.close(descriptor)


def fetch_manifest(api: Api, version_id: str, digest: str) -> Manifest:
    """Raise Damaged when it is not the one of that digest."""
    data = api.fetch("GET", f"/artifacts/versions/{version_id}/manifest")
    if digest_of(data) != digest:
        raise Damaged(f"the manifest of {version_id} arrived with other bytes than it has; try again")
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
    targets = [_Target(file, os.path.join(folder, *file.path.split("/"))) for file in files]
    url = f"/artifacts/versions/{version_id}/chunks"

    def work(group: list[_Place]) -> None:
        _fetch(api.until(crew.has_failed), url, group, crew.told(told))

    with Crew(work, num_parallel) as crew:
        for group in _groups(_lacking(targets, told)):
            crew.put(group)
    return [target.path for target in targets]


def _lacking(targets: Iterable[_Target], told: Told) -> Iterator[_Place]:
    for target in targets:
        if target.is_there():
            told(target.path, target.file.size, False)
            continue
        lacking = target.begin()
        told(target.path, target.file.size - sum(place.chunk.size for place in lacking), False)
        if not lacking:
            target.finish()
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
                place.target.put(data, place.offset)
                told(place.target.path, place.chunk.size, True)
        left = [digest for digest in left if digest not in arrived]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
