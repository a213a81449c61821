"""Kept connections against servers that end them early, late, in the middle, and by a restart."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator
from typing import Optional

import pytest

from danlu.transfer.http import Server


class FickleServer(http.server.ThreadingHTTPServer):
    """Answers `{}`; how it ends its connections is for the test to say."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.closed = threading.Semaphore(0)
        self.num_connections = 0
        self.idle_seconds: Optional[float] = None
        self.cut_next_after: Optional[int] = None
        """How many bytes of the next answer are sent before its connection is closed."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: FickleServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server.num_connections += 1
        self.connection.settimeout(self.server.idle_seconds)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
        cut, self.server.cut_next_after = self.server.cut_next_after, None
        self.wfile.write(answer[:cut])
        self.close_connection = cut is not None

    def log_message(self, format: str, *args: object) -> None:
        pass


class _CountingServer(FickleServer):
    def shutdown_request(self, request: object) -> None:
        super().shutdown_request(request)  # type: ignore[arg-type]
        self.closed.release()


@pytest.fixture
def fickle() -> Iterator[FickleServer]:
    server = _CountingServer()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@contextlib.contextmanager
def _client(port: int) -> Iterator[Server]:
    client = Server(f"http://127.0.0.1:{port}", "token", patience_seconds=30.0, say=lambda _: None)
    yield client
    client.drop()


def test_a_connection_that_the_server_closed_while_idle_is_opened_again(fickle: FickleServer) -> None:
    fickle.idle_seconds = 0.05
    with _client(fickle.server_port) as client:
        for _ in range(3):
            assert client.post_json("/runs", {}) == {}
            assert fickle.closed.acquire()
        assert fickle.num_connections == 3


def test_a_connection_that_stays_open_is_used_again(fickle: FickleServer) -> None:
    with _client(fickle.server_port) as client:
        for _ in range(3):
            assert client.post_json("/runs", {}) == {}
        assert fickle.num_connections == 1


@pytest.mark.parametrize("num_bytes", [0, 10, 40])
def test_an_answer_that_breaks_off_is_asked_for_again(fickle: FickleServer, num_bytes: int) -> None:
    with _client(fickle.server_port) as client:
        fickle.cut_next_after = num_bytes
        assert client.patiently("a run", lambda: client.post_json("/runs", {})) == {}


def test_a_request_after_one_that_broke_off_has_a_connection_of_its_own(fickle: FickleServer) -> None:
    with _client(fickle.server_port) as client:
        fickle.cut_next_after = 0
        with pytest.raises(OSError, match="closed connection"):
            client.post_json("/runs", {})
        assert client.post_json("/runs", {}) == {}


def test_a_server_that_was_restarted_is_found_again(fickle: FickleServer) -> None:
    first = _CountingServer()
    thread = threading.Thread(target=first.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    first.idle_seconds = 0.05
    with _client(first.server_port) as client:
        assert client.post_json("/runs", {}) == {}
        assert first.closed.acquire()
        first.shutdown()
        first.server_close()
        second = _CountingServer(first.server_port)
        threading.Thread(target=second.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            assert client.post_json("/runs", {}) == {}
        finally:
            second.shutdown()
            second.server_close()
