"""A carrier of Python's own library: for nodes, and for scripts whose packages are none of our business."""

from __future__ import annotations

import contextlib
import http.client
import io
import selectors
import socket
import ssl
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Optional, cast

from danlu.transfer.carrier import (
    BLOCK_BYTES,
    CONNECT_SECONDS,
    IDLE_SECONDS,
    MAX_ANSWER_BYTES,
    PREFIX,
    READ_SECONDS,
    Answer,
    Block,
    Body,
    Credentials,
    Granted,
    Request,
    Stretch,
    bearer,
    blocks_of,
    refused_by_server,
    refused_by_service,
)
from danlu.transfer.errors import Damaged, Disconnected, NotConnected

MAX_KEPT = 8
"""Idle connections of one origin that are kept."""

_IN_PATHS = "/%:@!$&'()*+,;=~"
"""What may stand in the path of an address as it is; the rest is quoted."""

_BROKEN = (OSError, http.client.HTTPException)


class HttpCarrier:
    """Requests with a token, over connections that are kept for the next one."""

    def __init__(
        self, url: str, token: Credentials, *, idle_seconds: float = IDLE_SECONDS, user_agent: str = "danlu"
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        self._origin = _origin(parts)
        self._path = urllib.parse.quote(parts.path.rstrip("/"), safe=_IN_PATHS) + PREFIX
        self._token = token
        self._user_agent = user_agent
        self._kept = _Kept(idle_seconds)
        self._reaches_services = True

    @property
    def reaches_services(self) -> bool:
        return self._reaches_services

    def close(self) -> None:
        """Close what is kept. The next request opens a new connection."""
        self._kept.close()

    @contextlib.contextmanager
    def open(self, request: Request) -> Iterator[Answer]:
        wanted = _Wanted(
            request.method,
            self._path + request.path,
            {"Authorization": bearer(self._token), "User-Agent": self._user_agent, **(request.headers or {})},
            request.body,
            request.read_seconds,
        )
        with self._exchange(self._origin, wanted) as answer:
            if 200 <= answer.status < 300 or answer.status == 307:
                yield answer
                return
            raise refused_by_server(answer, answer.reason)

    @contextlib.contextmanager
    def open_granted(self, granted: Granted) -> Iterator[Answer]:
        place = urllib.parse.urlsplit(granted.url)
        target = urllib.parse.urlunsplit(("", "", place.path or "/", place.query, ""))
        wanted = _Wanted(granted.method, target, granted.headers or {}, granted.body, READ_SECONDS)
        try:
            with self._exchange(_origin(place), wanted) as answer:
                if 200 <= answer.status < 300:
                    yield answer
                    return
                raise refused_by_service(answer, answer.reason)
        except NotConnected:
            self._reaches_services = False  # not from here; from now on the bytes go through the server
            raise

    @contextlib.contextmanager
    def _exchange(self, origin: _Origin, wanted: _Wanted) -> Iterator[_HttpAnswer]:
        connection, response = self._send(origin, wanted)
        answer = _HttpAnswer(response)
        is_kept = False
        try:
            yield answer
            is_kept = answer.is_at_end and not response.will_close
        finally:
            response.close()
            if is_kept:
                self._kept.put(origin, connection)
            else:
                connection.close()

    def _send(self, origin: _Origin, wanted: _Wanted) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        kept = self._kept.take(origin)
        if kept is not None:
            try:
                return kept, _ask(kept, wanted)
            except _Dead:
                pass  # it was closed while it was idle, and we noticed late: the same again on a new one
        connection = _connect(origin)
        try:
            return connection, _ask(connection, wanted)
        except _Dead as error:
            raise Disconnected(str(error)) from error


class _Origin(NamedTuple):
    is_secure: bool
    host: str
    port: Optional[int]


class _Wanted(NamedTuple):
    method: str
    target: str
    headers: Mapping[str, str]
    body: Optional[Body]
    read_seconds: float


class _Dead(Exception):
    """The connection ended before anything of an answer came."""


class _Kept:
    """Connections that wait for the next request, the one that was used last first."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._of: dict[_Origin, list[tuple[http.client.HTTPConnection, float]]] = {}

    def take(self, origin: _Origin) -> Optional[http.client.HTTPConnection]:
        while True:
            with self._lock:
                waiting = self._of.get(origin)
                if not waiting:
                    return None
                connection, since = waiting.pop()
            if time.monotonic() - since < self._idle_seconds and not _is_closed(connection):
                return connection
            connection.close()

    def put(self, origin: _Origin, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            waiting = self._of.setdefault(origin, [])
            waiting.append((connection, time.monotonic()))
            surplus = waiting.pop(0)[0] if len(waiting) > MAX_KEPT else None
        if surplus is not None:
            surplus.close()

    def close(self) -> None:
        with self._lock:
            waiting = [connection for of_origin in self._of.values() for connection, _ in of_origin]
            self._of.clear()
        for connection in waiting:
            connection.close()


class _Response(http.client.HTTPResponse):
    """Python's own takes a head that breaks off for a short one: it would lack headers that the server has sent."""

    def begin(self) -> None:
        whole, self.fp = self.fp, cast("io.BufferedReader", _Head(self.fp))
        try:
            super().begin()
        finally:
            if self.fp is not None:
                self.fp = whole


class _Head(io.BufferedIOBase):
    """Lines of a head. A last one that is not whole is no line."""

    def __init__(self, lines: io.BufferedIOBase) -> None:
        self._lines = lines
        self._is_first = True

    def readline(self, size: Optional[int] = -1, /) -> bytes:
        line = self._lines.readline(size)
        if not line.endswith(b"\n") and (line or not self._is_first):
            raise http.client.IncompleteRead(line)
        self._is_first = False
        return line


class _HttpAnswer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self._length = response.length
        self.is_at_end = response.length == 0
        self.status = response.status
        self.reason = response.reason

    def header(self, name: str) -> str:
        return self._response.headers.get(name) or ""

    def blocks(self) -> Iterator[Block]:
        buffer = bytearray(min(BLOCK_BYTES, self._length or BLOCK_BYTES))
        view, arrived = memoryview(buffer), 0
        while not self.is_at_end:
            try:
                size = self._response.readinto(buffer)
            except _BROKEN as error:
                raise Disconnected(_brief(error)) from error
            arrived += size
            if size == 0 and self._length is not None and arrived < self._length:
                raise Disconnected(f"{arrived} of {self._length} bytes arrived")
            self.is_at_end = size == 0 or arrived == self._length
            if size:
                yield view[:size]

    def read(self, max_bytes: int = MAX_ANSWER_BYTES) -> bytes:
        if self.is_at_end:
            return b""
        if (self._length or 0) > max_bytes:
            raise Damaged(f"an answer of {self._length} bytes; expected at most {max_bytes}")
        try:
            data = self._response.read(max_bytes + 1) if self._length is None else self._response.read()
        except _BROKEN as error:
            raise Disconnected(_brief(error)) from error
        if len(data) > max_bytes:
            raise Damaged(f"an answer of more than {max_bytes} bytes")
        self.is_at_end = self._length is not None or self._response.isclosed()
        return data


def _origin(url: urllib.parse.SplitResult) -> _Origin:
    return _Origin(url.scheme == "https", url.hostname or "127.0.0.1", url.port)


def _connect(origin: _Origin) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if origin.is_secure else http.client.HTTPConnection
    connection = kind(origin.host, origin.port, timeout=CONNECT_SECONDS)
    connection.response_class = _Response
    try:
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        connection.close()
        raise NotConnected(_brief(error)) from error
    return connection


def _ask(connection: http.client.HTTPConnection, wanted: _Wanted) -> http.client.HTTPResponse:
    """Send a request and wait for the head of its answer. Whatever goes wrong, the connection is closed."""
    try:
        connection.sock.settimeout(wanted.read_seconds)
        # a server that says no may do so before it has read the whole body; its answer counts
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            _write(connection, wanted)
        return connection.getresponse()
    except (ConnectionError, http.client.RemoteDisconnected) as error:
        connection.close()
        raise _Dead(_brief(error)) from error
    except _BROKEN as error:
        connection.close()
        raise Disconnected(_brief(error)) from error
    except BaseException:
        connection.close()
        raise


def _write(connection: http.client.HTTPConnection, wanted: _Wanted) -> None:
    body = wanted.body
    connection.putrequest(wanted.method, wanted.target, skip_accept_encoding=True)
    for name, value in wanted.headers.items():
        connection.putheader(name, value)
    if body is not None or wanted.method in ("POST", "PUT", "PATCH"):
        connection.putheader("Content-Length", str(body.size if body is not None else 0))
    connection.endheaders()
    for piece in body.pieces() if body is not None else ():
        if isinstance(piece, Stretch) and not isinstance(connection.sock, ssl.SSLSocket):
            piece.send(connection.sock)
            continue
        for block in blocks_of(piece):
            connection.sock.sendall(block)


def _is_closed(connection: http.client.HTTPConnection) -> bool:
    """Whether the server has ended a connection while nothing was asked: servers do, after some seconds of quiet."""
    if connection.sock is None:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(timeout=0))  # between two requests there is nothing to read but its end


def _brief(error: BaseException) -> str:
    return str(error) or type(error).__name__
