"""Inputs from other servers: files at https:// addresses, and objects of other S3 services.

The stager is in the machine's network, so every address is checked before connecting, including those of redirects.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import Callable, NamedTuple, Optional, TypeVar
from urllib.parse import parse_qsl, urljoin, urlsplit

from danlu.node.task import TaskElsewhere
from danlu.transfer.addresses import AddressRefused, find_address, parse_networks
from danlu.transfer.errors import Disconnected, NotConnected, Refused
from danlu.transfer.local_files import local_problems, make_folder, partial_path
from danlu.transfer.retrying import Retry

WEB, S3 = "https://", "s3://"
MAX_REDIRECTS = 5
MAX_SECONDS = 24 * 3600.0
"""Time limit for one input, even while bytes still arrive."""

SILENT_SECONDS = 60.0
BLOCK_BYTES = 1 << 20
MAX_LIST_BYTES = 64 << 20
T = TypeVar("T")
Sign = Callable[[str, Mapping[str, str]], Mapping[str, str]]
"""(address, headers) of a GET -> headers with credentials."""


class NotFetched(Exception):
    """The input does not exist, is not allowed for this job, or differs from what was announced. Retrying is
    useless."""


class Source(NamedTuple):
    """Address and options of an input."""

    url: str
    options: dict[str, str]


class Elsewhere:
    """Fetches from addresses that users chose."""

    def __init__(
        self, allowed: TaskElsewhere, retry: Retry, *, secrets: Mapping[str, str], signs_each: bool = False
    ) -> None:
        """`signs_each`: requests with credentials follow redirects too; `sign` is called for each address."""
        self._signs_each = signs_each
        self._networks = parse_networks(",".join(allowed.networks))
        self._max_bytes = allowed.max_bytes
        self._tls = ssl.create_default_context()
        if allowed.ca_file:
            self._tls.load_verify_locations(allowed.ca_file)
        self._retry = retry
        self._secrets = secrets

    def fetch(self, source: str, to: str) -> int:
        """Fetch an input; return its number of files. Raise NotFetched, ServerAway and LocalProblem."""
        url, options = _parsed(source)
        if source.startswith(WEB):
            self.fetch_file(url, _target(to, url), sha256=options.get("sha256", ""))
            return 1
        from danlu.node.stage.s3 import fetch_s3

        return fetch_s3(self, Source(url, options), to=to, secret=self._secrets.get(options.get("secret", ""), ""))

    def fetch_file(self, url: str, to: str, *, sha256: str = "", sign: Optional[Sign] = None) -> None:
        """Fetch one file. It appears complete and verified, or not at all. An interrupted transfer is resumed."""
        make_folder(os.path.dirname(to) or ".")
        partial = partial_path(to, hashlib.sha256(url.encode()).hexdigest()[:12])
        with local_problems(to):
            descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666)
        try:
            download = _Download(self, url, descriptor, sign=sign, max_bytes=self._max_bytes)
            self._patiently(url, download.go_on, progress=lambda: download.length)
            if sha256 and download.digest != sha256:
                raise NotFetched(f"{url}: expected the SHA-256 {sha256}, got {download.digest}")
            with local_problems(to):
                os.replace(partial, to)
        finally:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                os.unlink(partial)

    def read(self, url: str, *, sign: Sign) -> bytes:
        """Return a small response body."""

        def attempt() -> bytes:
            with self.opened(url, {}, sign=sign) as answer:
                data = answer.read(MAX_LIST_BYTES + 1)
            if len(data) > MAX_LIST_BYTES:
                raise NotFetched(f"{_shown(url)}: the answer is larger than {MAX_LIST_BYTES} bytes")
            return data

        return self._patiently(url, attempt)

    @contextlib.contextmanager
    def opened(
        self, url: str, headers: Mapping[str, str], *, sign: Optional[Sign]
    ) -> Iterator[http.client.HTTPResponse]:
        """Yield the 200 or 206 response of an address, following redirects. Raise NotFetched, Refused and
        Disconnected."""
        for _ in range(MAX_REDIRECTS + 1):
            connection = self._connect(url)
            try:
                parts = urlsplit(url)
                path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
                signed = sign(url, headers) if sign is not None else headers
                connection.request(
                    "GET", path, headers={"User-Agent": "danlu", "Accept-Encoding": "identity", **signed}
                )
                answer = connection.getresponse()
                if answer.status in (200, 206):
                    yield answer
                    return
                url = _next(url, answer, may_follow=sign is None or self._signs_each)
            except (OSError, http.client.HTTPException) as error:
                raise Disconnected(f"{_shown(url)}: {type(error).__name__}: {error}") from error
            finally:
                connection.close()
        raise NotFetched(f"{_shown(url)}: more than {MAX_REDIRECTS} redirects")

    def _connect(self, url: str) -> http.client.HTTPSConnection:
        parts = urlsplit(url)
        if parts.scheme != "https" or not parts.hostname:
            raise NotFetched(f"expected an https:// address, got {_shown(url)}")
        host, port = parts.hostname, parts.port or 443
        try:
            ip, _ = find_address(host, port, networks=self._networks)
        except AddressRefused as error:
            raise NotFetched(str(error)) from error
        connection = http.client.HTTPSConnection(host, port, timeout=SILENT_SECONDS, context=self._tls)
        try:
            plain = socket.create_connection((ip, port), SILENT_SECONDS)
            try:
                connection.sock = self._tls.wrap_socket(plain, server_hostname=host)
            except BaseException:
                plain.close()
                raise
        except ssl.SSLCertVerificationError as error:
            raise NotFetched(f"{host}: its certificate is not valid here: {error.verify_message}") from error
        except OSError as error:
            raise NotConnected(f"{host}: {error}") from error
        return connection

    def _patiently(self, url: str, attempt: Callable[[], T], progress: Callable[[], int] = lambda: 0) -> T:
        try:
            return self._retry.call(_shown(url), attempt, progress=progress)
        except Refused as refused:
            raise NotFetched(f"{_shown(url)}: {refused.status} {refused.message}") from refused


class _Download:
    """A file that grows while it is downloaded, and its digest."""

    def __init__(
        self, elsewhere: Elsewhere, url: str, descriptor: int, *, sign: Optional[Sign], max_bytes: int
    ) -> None:
        self._elsewhere = elsewhere
        self._url = url
        self._descriptor = descriptor
        self._sign = sign
        self._max_bytes = max_bytes
        self._end_at = time.monotonic() + MAX_SECONDS
        self._digest = hashlib.sha256()
        self.length = 0

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def go_on(self) -> None:
        headers = {"Range": f"bytes={self.length}-"} if self.length else {}
        with self._elsewhere.opened(self._url, headers, sign=self._sign) as answer:
            if self.length and not (
                answer.status == 206 and (answer.getheader("Content-Range") or "").startswith(f"bytes {self.length}-")
            ):
                self._start_over()  # the response is the whole file
            size = self.length + int(answer.getheader("Content-Length") or -1 - self.length)
            self._check(max(size, 0))
            while block := answer.read(BLOCK_BYTES):
                self._add(block)
        if size >= 0 and self.length != size:
            raise Disconnected(f"{self.length} of {size} bytes arrived")

    def _add(self, block: bytes) -> None:
        self._check(self.length + len(block))
        with local_problems(self._url):
            view = memoryview(block)
            while view:
                view = view[os.write(self._descriptor, view) :]
        self._digest.update(block)
        self.length += len(block)

    def _check(self, size: int) -> None:
        if self._max_bytes and size > self._max_bytes:
            raise NotFetched(f"{_shown(self._url)}: expected at most {self._max_bytes} bytes, got {size} or more")
        if time.monotonic() > self._end_at:
            raise NotFetched(f"{_shown(self._url)}: not whole after {MAX_SECONDS / 3600:.0f} hours")

    def _start_over(self) -> None:
        with local_problems(self._url):
            os.ftruncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
        self.length, self._digest = 0, hashlib.sha256()


def _next(url: str, answer: http.client.HTTPResponse, *, may_follow: bool) -> str:
    """Return the target of a redirect. Raise Refused for any other status."""
    target = answer.getheader("Location") or ""
    if answer.status in (301, 302, 303, 307, 308) and target and may_follow:
        return urljoin(url, target).partition("#")[0]
    asked = answer.getheader("WWW-Authenticate") or ""
    raise Refused(answer.status, answer.reason or "no reason given", fields={"challenge": asked})


def _parsed(source: str) -> Source:
    url, _, after = source.partition("#")
    return Source(url, dict(parse_qsl(after)))


def _target(to: str, url: str) -> str:
    """If the target is an existing folder, the file goes into it, as with cp."""
    name = os.path.basename(urlsplit(url).path)
    return os.path.join(to, name) if os.path.isdir(to) and name else to


def _shown(url: str) -> str:
    """Strip the query string: it may contain a password."""
    return url.partition("?")[0]
