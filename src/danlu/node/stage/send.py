"""Upload the outputs of a task to the store: new and changed files, each as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Optional

from danlu.node.stage.job_files import open_regular, walk
from danlu.node.task import TaskOutput
from danlu.transfer.api import Api
from danlu.transfer.errors import Changed, LocalProblem, Refused
from danlu.transfer.keys import why_no_key
from danlu.transfer.object_upload import OneProblem, Outgoing, send_objects

MAX_CHANGES = 5
"""How often the last pass retries a file that changes while it is read."""

MAX_NAMED, MAX_NAME = 3, 200
"""How many failed files a message names, and the maximum length of a name."""


class Version(NamedTuple):
    """Detects changes of a file without reading it."""

    size_bytes: int
    mtime_ns: int
    inode: int


class Target(NamedTuple):
    """Where a file is uploaded to."""

    bucket: str
    key: str


class LeftOut(NamedTuple):
    """A file that could not be uploaded, with its version and the reason."""

    version: Version | None
    why: str


class Sender:
    """Remembers what the store has. Symlinks, devices and sockets are skipped.

    A file that is rejected or cannot be read does not prevent the upload of others.
    """

    def __init__(
        self,
        api: Api,
        outputs: Sequence[TaskOutput],
        *,
        sent: dict[str, list[int]],
        say: Callable[[str], None],
    ) -> None:
        """`sent`: files that came from the store, with their version then."""
        self._api = api
        self._outputs = outputs
        self._say = say
        self._sent: dict[str, Version] = {path: Version(*known) for path, known in sent.items()}
        self._seen: dict[str, Version] = {}
        self._left_out: dict[str, LeftOut] = {}

    def send_settled(self) -> None:
        """Upload files that have not changed since the last call. For use while the command runs."""
        seen: dict[str, Version] = {}
        settled = []
        for path, target in self._find(is_last=False):
            version = _version(path)
            if version is None or self._sent.get(path) == version or self._is_left_out(path, version):
                continue
            seen[path] = version
            if self._seen.get(path) == version:
                settled.append((path, target))
        self._seen = seen
        self._send_all(settled, is_last=False)

    def send_all(self) -> str:
        """Upload everything that the store does not have. For use when the command has ended.

        Return a sentence about the files that could not be uploaded; empty when all were.
        """
        self._left_out = {}
        found = list(self._find(is_last=True))
        self._send_all([(path, to) for path, to in found if self._sent.get(path) != _version(path)], is_last=True)
        num_files = len(self._left_out.keys() | {path for path, _ in found})
        return _sentence({path: left_out.why for path, left_out in self._left_out.items()}, num_files)

    def _find(self, *, is_last: bool) -> Iterator[tuple[str, Target]]:
        for folder, to, while_running in self._outputs:
            if not while_running and not is_last:
                continue
            bucket, _, prefix = to[len("store://") :].partition("/")
            for path in walk(folder, self._leave_out):
                key = f"{prefix.rstrip('/')}/{os.path.relpath(path, folder)}".lstrip("/")
                yield path, Target(bucket, key)

    def _send_all(self, found: list[tuple[str, Target]], *, is_last: bool) -> None:
        """Upload files. In the last pass, retry those that change meanwhile a few times."""
        left = found
        for _ in range(MAX_CHANGES if is_last else 1):
            left = self._send(left) if left else []
        for path, _ in left if is_last else ():
            self._leave_out(path, "it did not stop changing")

    def _send(self, found: list[tuple[str, Target]]) -> list[tuple[str, Target]]:
        """Upload once; return the files that changed during the upload."""
        versions: dict[str, Version] = {}
        files: list[Outgoing] = []
        changed: list[tuple[str, Target]] = []
        for path, (bucket, key) in found:
            version, why = _version(path), why_no_key(key)
            if why:
                self._leave_out(path, why)
            elif version is not None:
                versions[path] = version
                files.append(Outgoing(path, bucket, key, version.size_bytes))

        def done(file: Outgoing, problem: Optional[OneProblem]) -> None:
            version = versions[file.local]
            if isinstance(problem, Changed) or (problem is None and _version(file.local) != version):
                self._say(f"{file.local}: changed while it was sent")
                changed.append((file.local, Target(file.bucket, file.key)))
            elif problem is None:
                self._sent[file.local] = version
                self._say(f"{file.local}: {version.size_bytes} bytes sent")
            else:
                self._refuse(file.local, problem)

        send_objects(self._api, files, done=done, opened=open_regular)
        return changed

    def _refuse(self, path: str, problem: OneProblem) -> None:
        if isinstance(problem, LocalProblem):
            self._leave_out(path, problem.why)
        elif isinstance(problem, Refused):
            if problem.status in (401, 403) or not 400 <= problem.status < 500:
                raise problem  # not specific to this file
            self._leave_out(path, f"{problem.status} {problem.message}")

    def _leave_out(self, path: str, why: str) -> None:
        known, self._left_out[path] = self._left_out.get(path), LeftOut(_version(path), why)
        if known is None or known.why != why:
            self._say(f"{_shown(path)}: not stored: {why}")

    def _is_left_out(self, path: str, version: Version) -> bool:
        known = self._left_out.get(path)
        return known is not None and known.version == version


def _sentence(left_out: dict[str, str], num_files: int) -> str:
    if not left_out:
        return ""
    named = [f"{_shown(path)}: {why[:MAX_NAME]}" for path, why in sorted(left_out.items())[:MAX_NAMED]]
    more = f"; and {len(left_out) - MAX_NAMED} more" if len(left_out) > MAX_NAMED else ""
    return f"{len(left_out)} of {num_files} files could not be stored: {'; '.join(named)}{more}"


def _shown(path: str) -> str:
    text = path if path.isprintable() else repr(path)
    return text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}..."


def _version(path: str) -> Version | None:
    try:
        return _version_of(os.lstat(path))
    except OSError:
        return None


def _version_of(found: os.stat_result) -> Version:
    return Version(found.st_size, found.st_mtime_ns, found.st_ino)
