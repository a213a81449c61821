"""Brings the outputs of a task to the store: new and changed files, each whole."""

from __future__ import annotations

import base64
import concurrent.futures.thread
import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from danlu.node.task import TaskOutput
from danlu.transfer.http import CHUNK_BYTES, LocalProblem, Refused, Server, quote
from danlu.transfer.keys import why_no_key

NUM_CONNECTIONS = 4
RESUME_BYTES = 64 << 20
"""Files of at least this size are sent so that a broken connection does not cost what has arrived."""

MAX_CHANGES = 5
"""How often a file that changes while it is read is read again in the last pass."""

MAX_NAMED, MAX_NAME = 3, 200
"""How many of the files that could not be stored are named, and at what length."""

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC  # needs no right to list it


class Version(NamedTuple):
    """What tells one state of a file from the next without reading it."""

    size_bytes: int
    mtime_ns: int
    inode: int


class Target(NamedTuple):
    """Where a file goes."""

    bucket: str
    key: str

    @property
    def url(self) -> str:
        return f"/buckets/{quote(self.bucket)}/objects/{quote(self.key)}"


class LeftOut(NamedTuple):
    """A file that could not be stored, as it was then, and why."""

    version: Version | None
    why: str


class Changed(Exception):
    """The file is not the one whose digest was taken."""


class Removed(Exception):
    """The file is no longer there, or no longer a file."""


class Sender:
    """Remembers what the store has. Symbolic links, devices and sockets are not sent.

    A file that the store does not take, or that cannot be read, does not keep the others from being sent.
    """

    def __init__(
        self,
        server: Server,
        outputs: Sequence[TaskOutput],
        *,
        sent: dict[str, list[int]] | None = None,
        say: Callable[[str], None],
    ) -> None:
        """`sent`: files that came from the store, as they were then."""
        self._server = server
        self._outputs = outputs
        self._say = say
        self._sent: dict[str, Version] = {path: Version(*known) for path, known in (sent or {}).items()}
        self._seen: dict[str, Version] = {}
        self._left_out: dict[str, LeftOut] = {}

    def send_settled(self) -> None:
        """Send what was written and has not changed since the last call. For use while the command runs."""
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
        """Send whatever the store has not got. For use when the command has ended.

        Return a sentence about the files that could not be stored; empty when all could be.
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

    def _send_all(self, files: list[tuple[str, Target]], *, is_last: bool) -> None:
        if not files:
            return
        with concurrent.futures.thread.ThreadPoolExecutor(NUM_CONNECTIONS) as pool:
            running = [pool.submit(self._send, path, target, is_last=is_last) for path, target in files]
            try:
                for done in concurrent.futures.as_completed(running):
                    done.result()
            except BaseException:
                self._server.is_given_up.set()
                for waiting in running:
                    waiting.cancel()
                raise

    def _send(self, path: str, target: Target, *, is_last: bool) -> None:
        why = why_no_key(target.key)
        if why:
            self._leave_out(path, why)
            return
        for _ in range(MAX_CHANGES if is_last else 1):
            try:
                version = self._server.patiently(path, lambda: _send_once(self._server, path, target))
            except Changed:
                self._say(f"{path}: changed while it was sent")
                continue
            except Removed:
                return
            except Refused as refused:
                if refused.status in (401, 403) or not 400 <= refused.status < 500:
                    raise  # this is not about the one file
                self._leave_out(path, f"{refused.status} {refused.message}")
                return
            except LocalProblem as problem:
                self._leave_out(path, problem.why)
                return
            self._sent[path] = version
            self._say(f"{path}: {version.size_bytes} bytes sent")
            return
        if is_last:
            self._leave_out(path, "it did not stop changing")

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


def _send_once(server: Server, path: str, target: Target) -> Version:
    with open_regular(path) as descriptor:
        before = _version_of(os.fstat(descriptor))
        digest = hashlib.sha256()
        for piece in _pieces(descriptor, before.size_bytes):
            digest.update(piece)
        headers = {"Content-Length": str(before.size_bytes), "X-Danlu-SHA256": digest.hexdigest()}
        if _version_of(os.fstat(descriptor)) != before:
            raise Changed
        # a change from here on makes the digest wrong, and the server refuses the whole
        try:
            if before.size_bytes >= RESUME_BYTES:
                _send_rest(server, target, descriptor, before.size_bytes, digest.hexdigest())
            else:
                body = _pieces(descriptor, before.size_bytes)
                with server.open("PUT", target.url, body=body, headers=headers) as answer:
                    answer.read()
        except Refused as refused:
            if refused.status == 422 and _version_of(os.fstat(descriptor)) != before:
                raise Changed from refused
            raise
        if _version_of(os.fstat(descriptor)) != before:
            raise Changed
        return before


def _send_rest(server: Server, target: Target, descriptor: int, size: int, sha256: str) -> None:
    """Send a large file; what arrived in an earlier try is not sent again."""
    wanted = {"key": target.key, "size": size, "sha256": sha256, "direct": server.is_direct}
    begun = server.post_json(f"/buckets/{quote(target.bucket)}/uploads", wanted)
    offset = int(begun["offset"])
    if begun.get("part_bytes"):
        _send_parts(server, begun, descriptor, size)
    elif offset < size:
        headers = {"Content-Length": str(size - offset)}
        body = _pieces(descriptor, size, offset)
        with server.open("PUT", f"/uploads/{begun['id']}?offset={offset}", body=body, headers=headers) as answer:
            answer.read()
    server.post_json(f"/uploads/{begun['id']}/commit", None)


def _send_parts(server: Server, begun: dict[str, Any], descriptor: int, size: int) -> None:
    """Send the parts that have not arrived to the object service, each with a grant for these bytes."""
    step, arrived = int(begun["part_bytes"]), set(begun["parts"])
    for number in range(1, -(-size // step) + 1):
        if number in arrived:
            continue
        begin = (number - 1) * step
        data = b"".join(_pieces(descriptor, min(begin + step, size), begin))
        md5 = base64.b64encode(hashlib.md5(data).digest()).decode()
        granted = server.post_json(f"/uploads/{begun['id']}/grants", {"parts": [{"number": number, "md5": md5}]})
        headers = {
            "Content-Length": str(len(data)),
            "Content-MD5": md5,
            "Content-Type": "application/octet-stream",
        }
        with server.from_service("PUT", granted["urls"][0], body=[data], headers=headers) as answer:
            answer.read()


@contextlib.contextmanager
def open_regular(path: str) -> Iterator[int]:
    try:
        descriptor = _open_without_links(path)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise Removed from error  # it became a link or a socket: not for sending
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            raise Removed from error
        raise LocalProblem(path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Removed
        yield descriptor
    finally:
        os.close(descriptor)


def _open_without_links(path: str) -> int:
    """Open a file so that no part of its path is a symbolic link: the job could point one at what is not its own."""
    *parents, name = path.strip("/").split("/")
    folder = os.open("/" if path.startswith("/") else ".", _FOLDER)
    try:
        for part in parents:
            deeper = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = deeper
        return os.open(name, _OPEN, dir_fd=folder)
    finally:
        os.close(folder)


def _pieces(descriptor: int, size_bytes: int, offset: int = 0) -> Iterator[bytes]:
    while offset < size_bytes:
        piece = os.pread(descriptor, min(CHUNK_BYTES, size_bytes - offset), offset)
        if not piece:
            raise Changed  # it became shorter
        yield piece
        offset += len(piece)


def walk(folder: str, leave_out: Callable[[str, str], None]) -> Iterator[str]:
    """Find the files below a folder; say which files and folders could not be looked at."""

    def note(error: OSError) -> None:
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):  # gone meanwhile
            leave_out(str(error.filename), error.strerror or str(error))

    if os.path.islink(folder):
        return
    for parent, folders, files in os.walk(folder, onerror=note):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(parent, name)
            try:
                mode = os.lstat(path).st_mode
            except OSError as error:
                note(error)
                continue
            if stat.S_ISREG(mode):
                yield path


def _version(path: str) -> Version | None:
    try:
        return _version_of(os.lstat(path))
    except OSError:
        return None


def _version_of(found: os.stat_result) -> Version:
    return Version(found.st_size, found.st_mtime_ns, found.st_ino)
