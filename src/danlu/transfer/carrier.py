"""What moves single requests. There are two: `HttpCarrier` here, and the client's, which is made of httpx."""

from __future__ import annotations

import json
import os
import re
import selectors
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Callable, NamedTuple, Optional, Protocol, Union

from danlu.transfer.errors import Changed, Damaged, LocalProblem, Refused

PREFIX = "/api/v1"
READ_SECONDS, CONNECT_SECONDS = 60.0, 10.0
IDLE_SECONDS = 4.0
"""A connection that was idle for longer is not used again. Danlu's server closes idle ones after 5 s."""

MAX_ANSWER_BYTES = 64 << 20
"""Of an answer that is read as a whole."""

MAX_ERROR_BYTES = 1 << 20
BLOCK_BYTES = 1 << 20
_SEND_BYTES = 256 << 10

_CODE = re.compile(rb"<Code>(\w{1,100})</Code>")

Block = Union[bytes, memoryview]
Sendable = Union[Block, "Stretch"]
Credentials = Union[str, Callable[[], str]]
"""A key or token; or what is asked for it before every request, because it changes."""


def bearer(credentials: Credentials) -> str:
    """The value of the `Authorization` header."""
    return f"Bearer {credentials if isinstance(credentials, str) else credentials()}"


class Stretch:
    """Bytes of a file: read where they must be, left to the kernel where they need not be.

    The descriptor belongs to the caller, and stays open while this is in use.
    """

    def __init__(self, path: str, descriptor: int, *, begin: int, size: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._begin = begin
        self._size = size

    def __len__(self) -> int:
        return self._size

    def parts(self) -> Iterator[Stretch]:
        """The same in pieces, for those who count as they go."""
        for at in range(0, self._size, BLOCK_BYTES):
            size = min(BLOCK_BYTES, self._size - at)
            yield Stretch(self._path, self._descriptor, begin=self._begin + at, size=size)

    def blocks(self) -> Iterator[bytes]:
        """Read exactly these bytes, also when the file has grown. Raise Changed when it shrank, and LocalProblem."""
        at = 0
        while at < self._size:
            try:
                block = os.pread(self._descriptor, min(BLOCK_BYTES, self._size - at), self._begin + at)
            except OSError as error:
                raise LocalProblem(self._path, error) from error
            if not block:
                raise Changed(self._path)
            at += len(block)
            yield block

    def send(self, sock: socket.socket) -> None:
        """Let the kernel send them, where it can. Raise OSError of the connection, and what `blocks` raises.

        `socket.sendfile` would take the file's problems for those of the connection, and move the file's position,
        which other threads share.
        """
        sent = _send_by_kernel(sock, self._descriptor, self._begin, self._size)
        rest = Stretch(self._path, self._descriptor, begin=self._begin + sent, size=self._size - sent)
        for block in rest.blocks():
            sock.sendall(block)


def _send_by_kernel(sock: socket.socket, descriptor: int, begin: int, size: int) -> int:
    """Return how many bytes the kernel has sent before it could not go on for a reason that is not the connection's."""
    sent = 0
    while sent < size and hasattr(os, "sendfile"):
        try:
            more = os.sendfile(sock.fileno(), descriptor, begin + sent, size - sent)
        except BlockingIOError:
            _wait_until_writable(sock)
            continue
        except (ConnectionError, TimeoutError):
            raise
        except OSError:
            break
        if more == 0:
            break
        sent += more
    return sent


def _wait_until_writable(sock: socket.socket) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_WRITE)
        if not selector.select(sock.gettimeout()):
            raise TimeoutError("timed out")


class Body(NamedTuple):
    """Bytes to send. `pieces` is called for each attempt."""

    size: int
    pieces: Callable[[], Iterable[Sendable]]


class Request(NamedTuple):
    """One request to the API. The server may get it twice, so it has to be one that does no harm then."""

    method: str
    path: str
    """Below `/api/v1`, quoted, with its query."""

    body: Optional[Body] = None
    headers: Optional[Mapping[str, str]] = None
    read_seconds: float = READ_SECONDS
    """How long the answer may be silent."""


class Granted(NamedTuple):
    """One request to an object service that the server has signed for us."""

    method: str
    url: str
    body: Optional[Body] = None
    headers: Optional[Mapping[str, str]] = None


class Answer(Protocol):
    """Its head has arrived, its body is read once. Both ways of reading raise Disconnected unless all of it comes."""

    @property
    def status(self) -> int: ...

    def header(self, name: str) -> str:
        """Empty when there is none."""

    def blocks(self) -> Iterator[Block]:
        """The body as it arrives. A block is good until the next one is asked for."""

    def read(self, max_bytes: int = MAX_ANSWER_BYTES) -> bytes:
        """All of the body. Raise Damaged when it is larger."""


class Carrier(Protocol):
    """A way to one server, and to the object services that it names. Safe to share between threads.

    When a kept connection was closed while it was idle, the carrier sends the request again on a new one. Every
    other break is raised, and trying again is for the retry policy.
    """

    @property
    def reaches_services(self) -> bool:
        """Whether the object services that the server named could be connected to so far."""

    def open(self, request: Request) -> AbstractContextManager[Answer]:
        """Send a request. A redirect (307) is an answer too.

        Raise Refused when the server says no, NotConnected when nothing was sent, else Disconnected.
        """

    def close(self) -> None:
        """Close the connections that are kept."""

    def open_granted(self, granted: Granted) -> AbstractContextManager[Answer]:
        """Send a request to an object service; it carries only what the grant says, never our credentials.

        Raises as `open` does; `error` of what is Refused is the service's own code, such as BadDigest.
        """


def body_of(data: Block) -> Body:
    """Bytes that are in memory."""
    return Body(len(data), lambda: (data,))


def small_blocks(body: Body) -> Iterator[memoryview]:
    """The bytes in blocks that a slow line takes within the time limit of one write."""
    for piece in body.pieces():
        yield from blocks_of(piece)


def blocks_of(piece: Sendable) -> Iterator[memoryview]:
    """The same of one piece."""
    for block in piece.blocks() if isinstance(piece, Stretch) else (piece,):
        view = memoryview(block)
        for begin in range(0, len(view), _SEND_BYTES):
            yield view[begin : begin + _SEND_BYTES]


def refused_by_server(answer: Answer, reason: str) -> Refused:
    """What the server said with an answer that is no success."""
    try:
        return refusal(answer.status, reason, answer.read(MAX_ERROR_BYTES))
    except Damaged:
        return refusal(answer.status, reason, b"")


def refusal(status: int, reason: str, body: bytes) -> Refused:
    """The same, for a body that has been read. Without a word from the server, `error` is empty."""
    try:
        told = json.loads(body)
        error = told.get("error") or told.get("error_code") or ""  # the second is in answers of the door for MLflow
        return Refused(status, str(told["message"]), error=str(error), fields=told.get("fields"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Refused(status, reason or f"HTTP {status}")


def refused_by_service(answer: Answer, reason: str) -> Refused:
    """The same for an object service."""
    try:
        found = _CODE.search(answer.read(MAX_ERROR_BYTES))
    except Damaged:
        found = None
    code = found.group(1).decode() if found is not None else ""
    return Refused(answer.status, f"the object service answered {answer.status} {code or reason}", error=code)
