"""One file from the server, or from the object service that it names: whole and right, or not at all.

What a break leaves is taken up, by this process or, for large files, by the next one.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, Optional

from danlu.transfer.api import Api
from danlu.transfer.carrier import BLOCK_BYTES, Answer, Block, Request
from danlu.transfer.errors import Damaged, Disconnected, Replaced
from danlu.transfer.local_files import local_problems, make_folder, open_unfinished, partial_path
from danlu.transfer.object_answers import (
    DIRECT_HEADER,
    About,
    about_of,
    is_range_from,
    open_at_service,
    range_headers,
)
from danlu.transfer.object_upload import RESUMABLE_BYTES
from danlu.transfer.progress import Told, quiet
from danlu.transfer.ranges import RANGE_BYTES, NoRanges, fetch_ranges


class RemoteFile(NamedTuple):
    """A file to fetch."""

    path: str
    """In the API."""

    to: str
    size: int
    """As it was listed. It decides how the file travels; what comes is what the server has by then."""

    sha256: Optional[str] = None
    is_executable: bool = False


def fetch_file(api: Api, file: RemoteFile, *, about: Optional[About] = None, told: Told = quiet) -> None:
    """Bring a file to its place. `about` is what is known of it already.

    Raise Refused, ServerAway, LocalProblem, Replaced when it became another one, and Damaged.
    """
    make_folder(os.path.dirname(file.to) or ".")
    if about is None and file.size >= RESUMABLE_BYTES:
        about = about_of(api.head(file.path))
    with _unfinished(file, about) as (partial, descriptor):
        _Download(api, file, descriptor, about, told).fetch()
        with local_problems(file.to):
            if file.is_executable:
                os.fchmod(descriptor, os.fstat(descriptor).st_mode & 0o777 | 0o111)
            os.replace(partial, file.to)


@contextmanager
def _unfinished(file: RemoteFile, about: Optional[About]) -> Iterator[tuple[str, int]]:
    """Open the unfinished file: that of an earlier attempt when it is large and no other process uses it."""
    is_kept = about is not None and about.size >= RESUMABLE_BYTES
    # what is kept belongs to one version of the object: the name says which
    mark = hashlib.sha256(repr(about).encode()).hexdigest()[:12] if is_kept else uuid.uuid4().hex[:12]
    partial, descriptor = open_unfinished(file.to, mark)
    is_kept = is_kept and partial == partial_path(file.to, mark)
    try:
        yield partial, descriptor
    except BaseException as error:
        if not is_kept or isinstance(error, Damaged):
            with suppress(OSError):
                os.unlink(partial)
        raise
    finally:
        os.close(descriptor)


class _Download:
    """An unfinished file that grows from its beginning on, and the digest of what it has."""

    def __init__(self, api: Api, file: RemoteFile, descriptor: int, about: Optional[About], told: Told) -> None:
        self._api = api
        self._file = file
        self._descriptor = descriptor
        self._about = about
        self._told = told
        self._digest = hashlib.sha256()
        self.length = 0

    @property
    def size(self) -> int:
        return self._file.size if self._about is None else self._about.size

    def fetch(self) -> None:
        self._read_own()
        self._api.patiently(self._file.path, self._fetch_rest, progress=lambda: self.length)
        expected = self._file.sha256 or (self._about.sha256 if self._about is not None else None)
        digest = self._digest.hexdigest()
        if expected is not None and digest != expected:
            told = f"the bytes that arrived have the SHA-256 {digest}, not {expected}; try again"
            raise Damaged(f"{self._file.to}: {told}")

    def add(self, block: Block) -> None:
        """Take the next bytes."""
        with local_problems(self._file.to):
            view = memoryview(block)
            while view:
                view = view[os.write(self._descriptor, view) :]
        self._digest.update(block)
        self.length += len(block)
        self._told(self._file.to, len(block), True)

    def check(self, found: About) -> None:
        if self._about is None:
            self._about = found
        if not self._about.is_same(found):
            name = self._file.path.partition("/objects/")[2] or self._file.path
            raise Replaced(f"{name} was replaced while it was fetched; try again")

    def _read_own(self) -> None:
        """Begin with what an earlier try has left."""
        with local_problems(self._file.to):
            while block := os.read(self._descriptor, BLOCK_BYTES):
                self._digest.update(block)
                self.length += len(block)
                self._told(self._file.to, len(block), False)
        if self.length > self.size:
            self._start_over()

    def _fetch_rest(self) -> None:
        if self.length == self.size and self._about is not None:
            return
        headers = range_headers(self.length)
        if self._api.carrier.reaches_services:
            headers[DIRECT_HEADER] = "yes"
        with self._api.open(Request("GET", self._file.path, headers=headers)) as answer:
            url = answer.header("Location") if answer.status == 307 else ""
            if not url:
                self._take(answer)
        if url:
            self._fetch_from_service(url)
        if self.length != self.size:
            raise Disconnected(f"{self.length} of {self.size} bytes arrived")

    def _fetch_from_service(self, url: str) -> None:
        if self._about is not None and self.size - self.length >= 2 * RANGE_BYTES:
            try:
                fetch_ranges(self._api, url, self)
                return
            except NoRanges:
                pass  # as a whole, then
        with open_at_service(self._api, url, range_headers(self.length)) as answer:
            self._take(answer)

    def _take(self, answer: Answer) -> None:
        self.check(about_of(answer))
        if self.length and not is_range_from(answer, self.length):
            self._start_over()  # it is the whole of it
        for block in answer.blocks():
            self.add(block)

    def _start_over(self) -> None:
        with local_problems(self._file.to):
            os.ftruncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
        self._told(self._file.to, -self.length, False)
        self.length, self._digest = 0, hashlib.sha256()
