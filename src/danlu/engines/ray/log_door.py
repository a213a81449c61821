"""A port of the driver to which agents send long log pieces directly, on its node's address in the cluster.

Ray's object store copies data several times on both machines. Here the kernel sends bytes from the log file and writes
them to the store's file, without copies in user space. A ticket, which the agent got through Ray, authorizes one piece:

    agent -> driver      ticket (32 bytes), the bytes of the piece, end

Sending has a time limit: on a slow network only part of a piece arrives, and that part is used. When this path fails,
the piece goes through Ray.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import secrets
import select
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

TICKET_BYTES = 32
MIN_BYTES = 256 << 10
"""Shorter pieces are sent with the answer."""

CONNECT_SECONDS, TICKET_SECONDS = 1.0, 5.0
SEND_SECONDS = 1.5
"""Time limit for sending a piece; shorter than the timeout of the request."""

UNSENT_BYTES = 256 << 10
"""Limit of unsent bytes in the kernel's buffer: they still have to arrive after the time limit."""

PIPE_BYTES = 1 << 20
MAX_VISITORS = 64
AGAIN_SECONDS = 600.0
"""When to try again for a node that could not connect."""

log = logging.getLogger("danlu.ray")


class Way(NamedTuple):
    """Address and ticket for one piece. Sent to the agent as plain data."""

    address: str
    port: int
    ticket: bytes


class Expected:
    """A requested piece: where its bytes are written, and how many have arrived."""

    def __init__(self, path: str, *, at: int, most: int) -> None:
        self._path, self._at, self._most = path, at, most
        self._ended = threading.Event()
        self.is_given_up = False
        self.size = 0
        self.problem: OSError | None = None
        """Why the bytes could not be written."""

    def wait(self, seconds: float) -> None:
        self._ended.wait(seconds)

    def take(self, visitor: socket.socket, silent_seconds: float) -> None:
        """Write received bytes until the sender closes the connection or is silent for too long."""
        try:
            with _opened(self._path) as file, _pipe() as (filling, emptying):
                while not self.is_given_up and (count := self._fill(filling, visitor, silent_seconds=silent_seconds)):
                    _empty(emptying, file, count, at=self._at + self.size)
                    self.size += count
        except OSError as error:
            self.problem = error
        finally:
            self._ended.set()

    def _fill(self, pipe: int, visitor: socket.socket, *, silent_seconds: float) -> int:
        most = min(PIPE_BYTES, self._most - self.size)
        try:
            if not most or not _is_ready(visitor, select.POLLIN, seconds=silent_seconds):
                return 0
            return os.splice(visitor.fileno(), pipe, most)
        except OSError:  # the sender disconnected; what has arrived is valid
            return 0


class LogDoor:
    def __init__(self, address: str, *, ticket_seconds: float = TICKET_SECONDS) -> None:
        """`address`: of this machine in the cluster. `ticket_seconds`: how long a sender may be silent."""
        self._ticket_seconds = ticket_seconds
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server((address, 0), family=family, backlog=MAX_VISITORS)
        self._address, self._port = address, self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._expected: dict[bytes, Expected] = {}
        self._visitors = threading.BoundedSemaphore(MAX_VISITORS)
        self._closed_for: dict[str, float] = {}
        threading.Thread(target=self._listen, name="log-door", daemon=True).start()

    def is_open_for(self, node: str) -> bool:
        return time.monotonic() > self._closed_for.get(node, float("-inf"))

    def close_for(self, node: str) -> None:
        """Send the node's pieces through Ray for some time."""
        log.info("%s cannot send logs to %s port %s: they go through Ray", node, self._address, self._port)
        self._closed_for[node] = time.monotonic() + AGAIN_SECONDS

    @contextlib.contextmanager
    def expect(self, path: str, *, at: int, most: int) -> Iterator[tuple[Way, Expected]]:
        """Expect one piece of at most `most` bytes. The ticket is valid inside the context only."""
        way, expected = (
            Way(self._address, self._port, secrets.token_bytes(TICKET_BYTES)),
            Expected(path, at=at, most=most),
        )
        with self._lock:
            self._expected[way.ticket] = expected
        try:
            yield way, expected
        finally:
            expected.is_given_up = True
            with self._lock:
                self._expected.pop(way.ticket, None)

    def _listen(self) -> None:
        while True:
            try:
                visitor, _ = self._listener.accept()
            except OSError as error:  # for example too many open files
                log.warning("no logs can be taken: %s", error)
                time.sleep(1.0)
                continue
            if not self._visitors.acquire(blocking=False):
                visitor.close()
                continue
            threading.Thread(target=self._let_in, args=(visitor,), name="log-visitor", daemon=True).start()

    def _let_in(self, visitor: socket.socket) -> None:
        try:
            with visitor:
                expected = self._of_ticket(_read_ticket(visitor, self._ticket_seconds))
                if expected is not None:
                    expected.take(visitor, self._ticket_seconds)
        except OSError:
            return
        finally:
            self._visitors.release()

    def _of_ticket(self, ticket: bytes) -> Expected | None:
        """A ticket is valid once."""
        with self._lock:
            return self._expected.pop(ticket, None)


def open_door(address: str, env: Mapping[str, str] = os.environ) -> LogDoor | None:
    """Return None when Ray's own traffic is encrypted: logs must be too, so they go through Ray."""
    if env.get("RAY_USE_TLS", "0").lower() not in ("", "0", "false"):
        return None
    try:
        return LogDoor(address)
    except OSError as error:
        log.warning("logs go through Ray: cannot listen on %s: %s", address, error)
        return None


def bring(log: int, way: Way, *, offset: int, size: int, seconds: float = SEND_SECONDS) -> int:
    """Agent side: send part of a file within a time limit. Return the number of bytes sent; 0 when it cannot
    connect."""
    sent = 0
    try:
        with socket.create_connection((way.address, way.port), CONNECT_SECONDS) as driver:
            driver.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
            driver.sendall(way.ticket)
            until = time.monotonic() + seconds
            while sent < size and _is_ready(driver, select.POLLOUT, seconds=until - time.monotonic()):
                count = os.sendfile(driver.fileno(), log, offset + sent, size - sent)
                if not count:
                    break
                sent += count
    except OSError:  # cannot connect, or disconnected
        pass
    return sent


def write_piece(path: str, data: memoryview, *, at: int) -> None:
    """Write a piece that arrived with the answer."""
    with _opened(path) as file:
        _write(file, data, at=at)


def _read_ticket(visitor: socket.socket, seconds: float) -> bytes:
    """Read the ticket with one deadline for all of it, so that a slow sender cannot hold the connection."""
    until, ticket = time.monotonic() + seconds, b""
    while len(ticket) < TICKET_BYTES:
        visitor.settimeout(max(0.001, until - time.monotonic()))
        piece = visitor.recv(TICKET_BYTES - len(ticket))
        if not piece:
            break
        ticket += piece
    return ticket


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def _is_ready(connected: socket.socket, event: int, *, seconds: float) -> bool:
    """Wait until the socket can be read or written, for at most `seconds`."""
    waiting = select.poll()
    waiting.register(connected, event)
    return bool(waiting.poll(max(0.0, seconds) * 1000))


@contextlib.contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    """Return (write end, read end)."""
    emptying, filling = os.pipe2(os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # the user's limit for large pipes may be reached
            fcntl.fcntl(filling, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        yield filling, emptying
    finally:
        os.close(filling)
        os.close(emptying)


def _empty(pipe: int, file: int, count: int, *, at: int) -> None:
    """Move bytes from a pipe to an offset of a file."""
    while count:
        try:
            written = os.splice(pipe, file, count, offset_dst=at)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            data = memoryview(os.read(pipe, count))  # the file system does not support splice
            _write(file, data, at=at)
            written = len(data)
        count, at = count - written, at + written


def _write(file: int, data: memoryview, *, at: int) -> None:
    while data:
        written = os.pwrite(file, data, at)
        data, at = data[written:], at + written
