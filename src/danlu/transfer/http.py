"""The stager's way to the server: one kept connection per thread, and patience while the server is away."""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import random
import selectors
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

PREFIX = "/api/v1"
CHUNK_BYTES = 1 << 20
TIMEOUT_SECONDS = 60.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 10.0
_TRY_AGAIN = (408, 425, 429, 500, 502, 503, 504, 507)
_AWAY = (OSError, http.client.HTTPException)

Result = TypeVar("Result")


class Refused(Exception):
    """The server answered, and the answer is no."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Away(Exception):
    """The server could not be reached, or not be made to answer, for as long as we were ready to wait."""


class LocalProblem(Exception):
    """A file of the task could not be read or written; waiting for the server would not help."""

    def __init__(self, path: str, error: OSError) -> None:
        self.why = error.strerror or str(error)
        super().__init__(f"{path}: {self.why}")
        self.is_disk_full = error.errno in (errno.ENOSPC, errno.EDQUOT)


class Interrupted(Exception):
    """Another thread has failed; there is no point in going on."""


class Server:
    """Requests with the attempt's token. Safe to share between threads."""

    def __init__(self, url: str, token: str, *, patience_seconds: float, say: Callable[[str], None]) -> None:
        self._url = urllib.parse.urlsplit(url)
        self._token = token
        self._patience_seconds = patience_seconds
        self._say = say
        self._own = threading.local()
        self.is_direct = True
        """Whether object services that the server sends us to were in reach so far."""
        self.is_given_up = threading.Event()

    def patiently(self, what: str, attempt: Callable[[], Result]) -> Result:
        """Call until it works. Raise Refused at once, and Away when patience has run out."""
        give_up_at = time.monotonic() + self._patience_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            if self.is_given_up.is_set():
                raise Interrupted
            try:
                return attempt()
            except Refused as refused:
                if refused.status not in _TRY_AGAIN:
                    raise
                problem = f"{refused.status} {refused.message}"
            except _AWAY as error:
                problem = str(error) or type(error).__name__
            self.drop()
            if time.monotonic() + pause > give_up_at:
                raise Away(f"{what}: {problem} (tried for {self._patience_seconds:.0f} s)")
            self._say(f"{what}: {problem}; trying again in {pause:.1f} s")
            # spread out, so that the tasks of a gang do not all come back in the same moment
            self.is_given_up.wait(pause * random.uniform(0.7, 1.3))
            pause = min(_LONGEST_PAUSE_SECONDS, pause * 2)

    def open(
        self,
        method: str,
        path: str,
        *,
        body: Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> http.client.HTTPResponse:
        """Send one request and return the answer, its body unread. Raise Refused unless it is 2xx."""
        sent = {"Authorization": f"Bearer {self._token}", **(headers or {})}
        try:
            answer = self._exchange(method, self._url.path.rstrip("/") + PREFIX + path, body, sent)
        except BaseException:
            self.drop()  # whatever state it is in, the next request does not meet it
            raise
        if 200 <= answer.status < 300:
            return answer
        if answer.status == 307 and answer.getheader("Location"):
            answer.read()
            return self.from_service(method, str(answer.getheader("Location")), headers=headers)
        raise Refused(answer.status, _message(answer.read(), answer.reason))

    def open_object(self, path: str) -> http.client.HTTPResponse:
        """Open an object for reading, at the object service when the server sends us there and it is in reach."""
        return self.open("GET", path, headers={"X-Danlu-Direct": "yes"} if self.is_direct else {})

    def from_service(
        self, method: str, url: str, *, body: Iterable[bytes] | None = None, headers: Mapping[str, str] | None = None
    ) -> http.client.HTTPResponse:
        """Send one request that a grant allows. Nothing else of ours is sent there, least of all the token."""
        place = urllib.parse.urlsplit(url)
        kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
        connection = kind(place.hostname or "", place.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.connect()
        except OSError:
            self.is_direct = False  # not in reach from here; the next try goes through the server
            raise
        sent = {"Connection": "close", **(headers or {})}
        connection.request(method, f"{place.path}?{place.query}", body=body, headers=sent)
        answer = connection.getresponse()
        if 200 <= answer.status < 300:
            return answer
        answer.read()
        connection.close()
        if answer.status == 404:
            raise Refused(404, "the object service has no such object")
        raise ConnectionError(f"the object service answered {answer.status} {answer.reason}")

    def get_json(self, path: str) -> Any:
        with self.open("GET", path) as answer:
            return json.loads(answer.read())

    def post_json(self, path: str, values: Any) -> Any:
        body = json.dumps(values).encode() if values is not None else b""
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        with self.open("POST", path, body=[body], headers=headers) as answer:
            return json.loads(answer.read())

    def drop(self) -> None:
        """Close this thread's connection; the next request opens a new one."""
        connection = getattr(self._own, "connection", None)
        self._own.connection = None
        if connection is not None:
            connection.close()

    def _exchange(
        self, method: str, target: str, body: Iterable[bytes] | None, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        connection = self._connection()
        # a server that says no may do so before it has read the whole body; its answer counts
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.request(method, target, body=body, headers=headers)
        return connection.getresponse()

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is not None and _is_closed(connection):
            self.drop()
            connection = None
        if connection is None:
            secure = self._url.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            connection = kind(self._url.hostname or "127.0.0.1", self._url.port, timeout=TIMEOUT_SECONDS)
            connection.connect()
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._own.connection = connection
        return connection


def _is_closed(connection: http.client.HTTPConnection) -> bool:
    """Whether the server has ended a connection while nothing was asked: servers do, after some seconds of quiet."""
    if connection.sock is None:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(timeout=0))  # between two requests there is nothing to read but its end


def quote(text: str) -> str:
    """Escape a key for a path; its slashes stay."""
    return urllib.parse.quote(text, safe="/")


def _message(body: bytes, otherwise: str) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return otherwise
