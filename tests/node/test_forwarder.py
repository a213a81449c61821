"""The way from a gang's network to the server: the API passes, nothing else does."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import danlu.node
from danlu.engines.local.forwarding import source_address
from danlu.node.supervise.forwarder import Rejected, parse_head, parse_target

SCRIPT = Path(danlu.node.__file__).parent / "supervise" / "forwarder.py"


class Request(NamedTuple):
    line: str
    headers: dict[str, str]
    body: bytes
    source: str


class Upstream(http.server.ThreadingHTTPServer):
    """Remembers what reaches it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[Request] = []


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Upstream
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        elif self.headers.get("Content-Length"):
            body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append(Request(self.requestline, dict(self.headers), body, self.client_address[0]))
        answer = b"x" * 3_000_000 if self.path.endswith("/large") else b"hello"
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_PUT = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@contextlib.contextmanager
def forwarding(url: str, *source: str) -> Iterator[int]:
    """A forwarder to this address; its port. It has to end when its leash does."""
    watched, leash = os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = int(listening.getsockname()[1])
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SCRIPT), str(listening.fileno()), str(watched), url, *source],
            pass_fds=(listening.fileno(), watched),
        )
    os.close(watched)
    try:
        yield port
    finally:
        os.close(leash)
        assert process.wait() == 0


@pytest.fixture
def port(upstream: Upstream) -> Iterator[int]:
    with forwarding(f"http://127.0.0.1:{upstream.server_port}") as found:
        yield found


def ask(port: int, method: str, path: str, **more: object) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    with contextlib.closing(connection):
        connection.request(method, path, **more)  # type: ignore[arg-type]
        answer = connection.getresponse()
        return answer.status, answer.read()


def say(port: int, data: bytes) -> bytes:
    """Send raw bytes and return all that comes back."""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(data)
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
        return answer


class TestSources:
    @pytest.mark.parametrize(
        ("source", "seen"), [("127.64.0.7", "127.64.0.7"), ("", "127.0.0.1"), ("192.0.2.1", "127.0.0.1")]
    )
    def test_requests_come_from_an_address_of_their_owner(self, upstream: Upstream, source: str, seen: str) -> None:
        """If there is such an address here: the last one belongs to nobody."""
        with forwarding(f"http://127.0.0.1:{upstream.server_port}", source) as port:
            assert ask(port, "GET", "/api/v1/jobs") == (200, b"hello")
        assert [request.source for request in upstream.requests] == [seen]

    def test_no_two_people_have_the_same(self) -> None:
        owners = [*range(1, 2000), 65_535, 65_536, 65_537, (1 << 22) - 1]
        assert len({source_address(owner) for owner in owners}) == len(owners)
        assert source_address(1) == "127.64.0.1"
        assert source_address(None) == ""


class TestWhatPasses:
    def test_clients_of_mlflow_reach_their_door(self, port: int, upstream: Upstream) -> None:
        assert ask(port, "GET", "/compat/mlflow/api/2.0/mlflow/runs/get?run_id=x") == (200, b"hello")
        assert len(upstream.requests) == 1

    def test_requests_with_and_without_bodies(self, port: int, upstream: Upstream) -> None:
        assert ask(port, "GET", "/api/v1/jobs?limit=1", headers={"Authorization": "Bearer t"}) == (200, b"hello")
        assert ask(port, "POST", "/api/v1/runs", body=b"{}" * 100_000) == (200, b"hello")
        assert ask(port, "PUT", "/api/v1/x", body=iter([b"a" * 70_000, b"b"]), encode_chunked=True) == (200, b"hello")
        assert [request.line for request in upstream.requests] == [
            "GET /api/v1/jobs?limit=1 HTTP/1.1",
            "POST /api/v1/runs HTTP/1.1",
            "PUT /api/v1/x HTTP/1.1",
        ]
        assert upstream.requests[0].headers["Authorization"] == "Bearer t"
        assert upstream.requests[0].headers["Host"] == f"127.0.0.1:{upstream.server_port}"
        assert [len(request.body) for request in upstream.requests] == [0, 200_000, 70_001]

    def test_large_answers(self, port: int) -> None:
        assert ask(port, "GET", "/api/v1/large") == (200, b"x" * 3_000_000)

    def test_cookies_and_forwarding_headers_are_dropped(self, port: int, upstream: Upstream) -> None:
        sent = {
            "Cookie": "danlu_session=1",
            "X-Forwarded-For": "10.0.0.1",
            "Forwarded": "for=1",
            "X-Danlu-Direct": "yes",
        }
        ask(port, "GET", "/api/v1/jobs", headers=sent)
        names = {name.lower() for name in upstream.requests[0].headers}
        assert names & {"cookie", "x-forwarded-for", "forwarded"} == set()
        assert "x-danlu-direct" in names


class TestWhatDoesNot:
    @pytest.mark.parametrize(
        "path",
        [
            "/",
            "/signin",
            "/api/v1",
            "/api/v2/jobs",
            "/api/v1/../../signin",
            "/api/v1/%2e%2e/x",
            "/api/v1/a/..%2f..%5cx",
            "/compat/mlflow",
            "/compat/tencent/x",
            "/compat/mlflow/../tencent/x",
        ],
    )
    def test_other_paths(self, port: int, upstream: Upstream, path: str) -> None:
        status, body = ask(port, "GET", path)
        assert (status, b"only paths below /api/v1/" in body) == (403, True)
        assert upstream.requests == []

    @pytest.mark.parametrize("path", ["/api/v1/session", "/api/v1/%73ession/?x", "/api/v1/registrations/1/approve"])
    def test_where_people_sign_in(self, port: int, upstream: Upstream, path: str) -> None:
        status, body = ask(port, "POST", path, body=b"{}")
        assert (status, b"people sign in and register elsewhere" in body) == (403, True)
        assert upstream.requests == []

    @pytest.mark.parametrize(
        "head",
        [
            b"CONNECT other:80 HTTP/1.1",
            b"GET http://other/api/v1/jobs HTTP/1.1",
            b"GET /api/v1/a b HTTP/1.1",
            b"nonsense",
            b"GET /api/v1/x HTTP/1.1\r\nno header",
            b"POST /api/v1/x HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2",
            b"POST /api/v1/x HTTP/1.1\r\nContent-Length: -1",
            b"POST /api/v1/x HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
            b"POST /api/v1/x HTTP/1.1\r\nTransfer-Encoding: gzip, chunked",
            b"POST /api/v1/x HTTP/1.1\r\nTransfer-Encoding : chunked",
            b"GET /api/v1/x HTTP/1.1\r\nA: b\nHost: other",
        ],
    )
    def test_requests_that_could_be_read_in_two_ways(self, port: int, upstream: Upstream, head: bytes) -> None:
        assert say(port, head + b"\r\n\r\n").startswith(b"HTTP/1.1 400 ")
        assert upstream.requests == []

    def test_a_second_request_behind_the_first(self, port: int, upstream: Upstream) -> None:
        second = b"GET /signin HTTP/1.1\r\nHost: x\r\n\r\n"
        say(port, b"GET /api/v1/one HTTP/1.1\r\n\r\n" + second)
        say(port, b"POST /api/v1/two HTTP/1.1\r\nContent-Length: 2\r\n\r\nab" + second)
        say(port, b"POST /api/v1/three HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n" + second)
        paths = [request.line.split()[1] for request in upstream.requests]
        assert paths == ["/api/v1/one", "/api/v1/two", "/api/v1/three"]

    def test_endless_headers(self, port: int, upstream: Upstream) -> None:
        assert say(port, b"GET /api/v1/x HTTP/1.1\r\nA: " + b"a" * 70_000).startswith(b"HTTP/1.1 431 ")
        assert upstream.requests == []


def test_a_server_that_is_away_is_named_in_the_usual_shape_of_errors() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nowhere = int(taken.getsockname()[1])
    with forwarding(f"http://127.0.0.1:{nowhere}") as port:
        status, body = ask(port, "GET", "/api/v1/jobs")
    assert (status, b'"ServerUnreachable"' in body) == (502, True)


class TestParsing:
    def test_an_address_with_a_path_before_the_api(self) -> None:
        target = parse_target("https://danlu.example/team/")
        head = parse_head(b"GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: keep-alive", target)
        assert head.data == (b"GET /team/api/v1/jobs HTTP/1.1\r\nHost: danlu.example\r\nConnection: close\r\n\r\n")

    def test_what_is_not_an_address(self) -> None:
        with pytest.raises(ValueError, match="expected an http or https address, got 'ftp://x'"):
            parse_target("ftp://x")

    def test_a_rejected_head_has_a_status(self) -> None:
        with pytest.raises(Rejected) as caught:
            parse_head(b"GET /console HTTP/1.1", parse_target("http://x"))
        assert caught.value.status == 403
