"""Files by their SHA-256 that the tasks of one node share: each is fetched once, and every task gets a copy.

<folder>/<sha256>          whole and checked, least recently used first to go
<folder>/<name>.lock       held by the process that fetches; its modification time shows progress

The folder belongs to one owner, because a digest is not a right: who names one must not get the bytes of others.
A task gets blocks shared until they are written where the file system can (reflink), else a copy, never a hard link:
a file that two tasks could write is not used. Each copy is checked after it was made, so whatever happened to the
cached file, a task has the right bytes or fetches them.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Callable

from danlu.transfer.carrier import BLOCK_BYTES, Block
from danlu.transfer.copying import share_blocks
from danlu.transfer.errors import LocalProblem
from danlu.transfer.file_download import RemoteFile
from danlu.transfer.local_files import PARTIAL, local_problems, partial_path, try_lock, write_whole
from danlu.transfer.progress import Told, quiet

LOCK = ".lock"
LOOK_SECONDS = 0.1
LOOK_BYTES = 64 << 20
"""How much one process adds before it measures the folder again."""

SILENT_SECONDS = 60.0
"""Others stop waiting for a process that made no progress for so long."""

LEFT_BEHIND_SECONDS = 24 * 3600.0
"""Unfinished files and locks older than this were left by a killed process."""

Fetch = Callable[[RemoteFile, Told], None]


class NodeCache:
    """Safe to use from any number of processes and threads."""

    def __init__(self, folder: str, max_bytes: int, *, silent_seconds: float = SILENT_SECONDS) -> None:
        """The folder must exist, and no other user may enter it."""
        self._folder = folder
        self._max_bytes = max_bytes
        self._silent_seconds = silent_seconds
        self._lock = threading.Lock()
        self._room_bytes = 0
        """What may be added before it is looked again what is there."""

    def place(self, file: RemoteFile, fetch: Fetch, *, told: Told = quiet) -> None:
        """Bring a file to its place, by way of the cache when its digest is known and there is room."""
        sha256 = file.sha256
        if sha256 is None or file.size > self._max_bytes:
            fetch(file, told)
            return
        with self.fetching(sha256, lambda: self.copy(file, told=told)) as turn:
            if turn.is_done:
                return
            if turn.is_ours:
                self._fetch_into(file._replace(to=self._path(sha256), is_executable=False), fetch, turn)
        if not self.copy(file, told=told):
            fetch(file, told)

    def copy(self, file: RemoteFile, *, told: Told = quiet) -> bool:
        """Make a copy of a cached file, and check it. False when there is none, or it is not right any more."""
        assert file.sha256 is not None
        kept = self._path(file.sha256)
        try:
            source = os.open(kept, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return False
        partial = partial_path(file.to, uuid.uuid4().hex[:12])
        try:
            with local_problems(file.to):
                target = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o777 if file.is_executable else 0o666)
            try:
                with local_problems(file.to):
                    is_right = _copy(source, target) == file.sha256
            finally:
                os.close(target)
            if not is_right:
                self._drop(kept)
                return False
            with suppress(OSError):
                os.utime(source)  # it was of use just now
            with local_problems(file.to):
                os.replace(partial, file.to)
        finally:
            os.close(source)
            with suppress(OSError):
                os.unlink(partial)
        told(file.to, file.size, False)
        return True

    def put(self, sha256: str, data: Block) -> None:
        """Keep bytes that are at hand. A full disk is no reason to fail."""
        with suppress(LocalProblem):
            self._make_room(len(data))
            write_whole(self._path(sha256), data, mark=uuid.uuid4().hex[:12])

    @contextmanager
    def fetching(self, name: str, look: Callable[[], bool]) -> Iterator[Turn]:
        """Wait for the turn to fetch something, or until `look` says that it is cached.

        A turn that is neither done nor ours: do not wait any longer, fetch without the cache.
        """
        turn = Turn(os.path.join(self._folder, f"{name}{LOCK}"))
        try:
            while not look():
                if turn.take() or turn.silent_seconds() > self._silent_seconds:
                    break
                time.sleep(LOOK_SECONDS)
            else:
                turn.is_done = True
            if turn.is_ours and look():  # the previous holder has fetched it
                turn.is_done = True
            yield turn
        finally:
            turn.give_back()

    def _fetch_into(self, file: RemoteFile, fetch: Fetch, turn: Turn) -> None:
        self._make_room(file.size)
        try:
            fetch(file, turn.told)
        except LocalProblem:
            return  # no room here: it may be there in the task's own place

    def _make_room(self, size: int) -> None:
        with self._lock:
            if self._room_bytes < size:
                self._room_bytes = min(self._remove_oldest(size), LOOK_BYTES) + size
            self._room_bytes -= size

    def _remove_oldest(self, size: int) -> int:
        """Remove what was not used for the longest time, and what killed processes left. Return what is free then."""
        found = []
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    seen = entry.stat(follow_symlinks=False)
                    found.append((seen.st_mtime, seen.st_size, entry.path, entry.name))
        left_behind = time.time() - LEFT_BEHIND_SECONDS
        total = size
        for changed_at, num_bytes, path, name in sorted(found, reverse=True):
            is_file = not name.startswith(PARTIAL) and not name.endswith(LOCK)
            if (is_file and total + num_bytes > self._max_bytes) or (not is_file and changed_at < left_behind):
                self._drop(path)
            else:
                total += num_bytes
        return max(0, self._max_bytes - total)

    def _drop(self, path: str) -> None:
        with suppress(OSError):
            os.unlink(path)

    def _path(self, sha256: str) -> str:
        return os.path.join(self._folder, sha256)


class Turn:
    """A lock file: held or not."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1
        self._told_at = 0.0
        self.is_ours = False
        self.is_done = False
        """Whether there is nothing left to fetch."""

    def take(self) -> bool:
        """Try to hold it. Where no lock file can be created, tasks do not wait for each other."""
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError:
            return True
        if try_lock(descriptor) and self._is_there(descriptor):
            self._descriptor, self.is_ours = descriptor, True
            self.told("", 0, False)
        else:
            os.close(descriptor)
        return self.is_ours

    def told(self, _file: str, _num_bytes: int, _has_travelled: bool) -> None:
        """Show progress to waiting processes."""
        now = time.monotonic()
        if self.is_ours and now - self._told_at >= 1.0:
            self._told_at = now
            os.utime(self._descriptor)

    def silent_seconds(self) -> float:
        try:
            return time.time() - os.stat(self._path).st_mtime
        except OSError:
            return 0.0  # it was given back a moment ago

    def give_back(self) -> None:
        if self.is_ours:
            with suppress(OSError):
                os.unlink(self._path)  # while it is held, so that no process locks a deleted file
            os.close(self._descriptor)
            self.is_ours = False

    def _is_there(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self._path))
        except OSError:
            return False


def _copy(source: int, target: int) -> str:
    """Copy an open file; return the SHA-256 of what the copy has."""
    digest, position = hashlib.sha256(), 0
    is_shared = share_blocks(source, target)
    while block := os.pread(target if is_shared else source, BLOCK_BYTES, position):
        digest.update(block)
        if not is_shared:
            os.write(target, block)
        position += len(block)
    return digest.hexdigest()
