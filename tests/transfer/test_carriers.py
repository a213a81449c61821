"""Kept connections against servers that end them early, late, in the middle, and by a restart."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Optional

import pytest

from danlu.transfer.api import Api
from danlu.transfer.carrier import Body, Carrier, Granted, Request, Sendable, Stretch, body_of
from danlu.transfer.errors import Changed, Damaged, Disconnected, LocalProblem, NotConnected, Refused, ServerAway
from danlu.transfer.local_files import body_of_file, open_file
from danlu.transfer.retrying import Retry

if TYPE_CHECKING:
    from tests.transfer.conftest import MakeCarrier


class FickleServer(http.server.ThreadingHTTPServer):
    """Answers `{}`; how it ends its connections is for the test to say."""

    daemon_threads = True
    request_queue_size = 64  # of connections that wait while the machine is busy: the kernel resets those beyond

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.closed = threading.Semaphore(0)
        self.num_connections = 0
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.idle_seconds: Optional[float] = None
        self.cut_next_after: Optional[int] = None
        """How many bytes of the next answer are sent before its connection is closed."""

        self.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
        self.reads_body = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def shutdown_request(self, request: object) -> None:
        super().shutdown_request(request)  # type: ignore[arg-type]
        self.closed.release()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: FickleServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server.num_connections += 1
        self.connection.settimeout(self.server.idle_seconds)

    def do_POST(self) -> None:
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.server.paths.append(self.path)
        if self.server.reads_body:
            self.server.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        cut, self.server.cut_next_after = self.server.cut_next_after, None
        self.wfile.write(self.server.answer[:cut])
        self.close_connection = cut is not None or not self.server.reads_body

    do_GET = do_HEAD = do_PUT = do_POST  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def fickle() -> Iterator[FickleServer]:
    server = FickleServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def carrier(make_carrier: MakeCarrier, fickle: FickleServer) -> Carrier:
    return make_carrier(fickle.url)


def post(carrier: Carrier, body: Optional[Body] = None) -> bytes:
    with carrier.open(Request("POST", "/runs", body or body_of(b"{}"))) as answer:
        return answer.read()


class TestKeptConnections:
    def test_one_that_the_server_closed_while_idle_is_opened_again(
        self, fickle: FickleServer, carrier: Carrier
    ) -> None:
        fickle.idle_seconds = 0.05
        for _ in range(3):
            assert post(carrier) == b"{}"
            assert fickle.closed.acquire()
        assert fickle.num_connections == 3

    def test_one_that_stays_open_is_used_again(self, fickle: FickleServer, carrier: Carrier) -> None:
        for _ in range(3):
            assert post(carrier) == b"{}"
        assert fickle.num_connections == 1

    def test_one_that_is_closed_in_the_moment_of_use_is_not_noticed_by_anybody(
        self, fickle: FickleServer, carrier: Carrier
    ) -> None:
        """The server ends it after the next request has begun to arrive, and before it says a word."""
        post(carrier)
        fickle.cut_next_after = 0
        assert post(carrier, Body(6, lambda: iter([b"abc", b"def"]))) == b"{}"
        assert fickle.bodies[1:] == [b"abcdef", b"abcdef"], "the body is made anew"

    def test_threads_have_connections_of_their_own(self, fickle: FickleServer, carrier: Carrier) -> None:
        threads = [threading.Thread(target=post, args=(carrier,)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(fickle.bodies) == 20

    def test_a_server_that_was_restarted_is_found_again(self, fickle: FickleServer, carrier: Carrier) -> None:
        assert post(carrier) == b"{}"
        fickle.stop()
        second = FickleServer(fickle.server_port)
        second.start()
        try:
            assert post(carrier) == b"{}"
        finally:
            second.stop()


class TestBreaks:
    @pytest.mark.parametrize("num_bytes", [10, 39])
    def test_an_answer_that_breaks_off_is_said_to(self, fickle: FickleServer, carrier: Carrier, num_bytes: int) -> None:
        fickle.cut_next_after = num_bytes
        with pytest.raises(Disconnected):
            post(carrier)
        assert post(carrier) == b"{}", "the next request has a connection of its own"

    @pytest.mark.parametrize("num_bytes", [0, 10, 39])
    def test_an_answer_that_breaks_off_is_asked_for_again(
        self, fickle: FickleServer, carrier: Carrier, num_bytes: int
    ) -> None:
        fickle.cut_next_after = num_bytes
        assert Api(carrier, Retry(30.0)).post("/runs", {}) == {}

    @pytest.mark.parametrize("method", ["HEAD", "GET"])
    def test_a_head_that_breaks_off_is_no_short_one(self, fickle: FickleServer, carrier: Carrier, method: str) -> None:
        """Wherever it is cut: what was not said must not be taken for what is not so."""
        fickle.answer = b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: "x"\r\n\r\n'
        for num_bytes in range(1, len(fickle.answer)):
            fickle.cut_next_after = num_bytes
            with pytest.raises(Disconnected), carrier.open(Request(method, "/x")):
                pass

    def test_blocks_that_do_not_all_come_are_no_answer(self, fickle: FickleServer, carrier: Carrier) -> None:
        fickle.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + bytes(60)
        fickle.cut_next_after = len(fickle.answer)
        arrived: list[int] = []

        def read() -> None:
            with carrier.open(Request("GET", "/x")) as answer:
                arrived.extend(len(block) for block in answer.blocks())

        with pytest.raises(Disconnected):
            read()
        assert sum(arrived) == 60

    def test_nobody_there_means_that_nothing_was_sent(self, fickle: FickleServer, carrier: Carrier) -> None:
        fickle.stop()
        with pytest.raises(NotConnected):
            post(carrier)
        with pytest.raises(ServerAway, match="refused"):
            Api(carrier, Retry(0.0)).post("/runs", {})

    def test_a_server_that_says_no_before_it_has_read_all_is_heard(
        self, fickle: FickleServer, carrier: Carrier
    ) -> None:
        fickle.reads_body = False
        told = b'{"error": "NotSignedIn", "message": "who are you?", "fields": {"a": "b"}}'
        fickle.answer = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: %d\r\n\r\n" % len(told) + told
        with pytest.raises(Refused) as caught:
            post(carrier, body_of(bytes(100)))
        refused = caught.value
        assert (refused.status, refused.message, refused.error, refused.fields) == (
            401,
            "who are you?",
            "NotSignedIn",
            {"a": "b"},
        )

    def test_a_problem_of_the_body_is_raised_as_it_is(self, fickle: FickleServer, carrier: Carrier) -> None:
        def blocks() -> Iterator[bytes]:
            yield b"a"
            raise LookupError("the file is gone")

        post(carrier)
        with pytest.raises(LookupError, match="the file is gone"):
            post(carrier, Body(10, blocks))
        assert post(carrier) == b"{}"


class TestFiles:
    def test_stretches_of_files_arrive_between_other_bytes(
        self, fickle: FickleServer, carrier: Carrier, tmp_path: Path
    ) -> None:
        data = os.urandom(3 << 20)
        (tmp_path / "x").write_bytes(data)
        with open_file(str(tmp_path / "x")) as descriptor:
            pieces: list[Sendable] = [
                b"head",
                Stretch("x", descriptor, begin=5, size=1 << 20),
                b"",
                Stretch("x", descriptor, begin=2 << 20, size=7),
                b"end",
            ]
            sent = b"head" + data[5 : 5 + (1 << 20)] + data[2 << 20 :][:7] + b"end"
            post(carrier, Body(len(sent), lambda: pieces))
        assert fickle.bodies == [sent]

    def test_a_file_that_became_shorter_is_told_and_no_request(
        self, fickle: FickleServer, carrier: Carrier, tmp_path: Path
    ) -> None:
        (tmp_path / "x").write_bytes(bytes(1000))
        with open_file(str(tmp_path / "x")) as descriptor:
            body = body_of_file("x", descriptor, 0, 2000)
            with pytest.raises(Changed, match="x changed while it was sent"):
                post(carrier, body)
        assert post(carrier) == b"{}"

    def test_a_disk_that_fails_is_told_from_a_connection_that_does(
        self, fickle: FickleServer, carrier: Carrier, tmp_path: Path
    ) -> None:
        """A file that is open for writing only: whoever reads it, the kernel or we, gets an error."""
        descriptor = os.open(tmp_path / "x", os.O_WRONLY | os.O_CREAT)
        os.pwrite(descriptor, bytes(1000), 0)
        try:
            with pytest.raises(LocalProblem, match="x"):
                post(carrier, body_of_file("x", descriptor, 0, 1000))
        finally:
            os.close(descriptor)
        assert post(carrier) == b"{}"

    def test_a_file_whose_size_is_not_known_is_read(self, fickle: FickleServer, carrier: Carrier) -> None:
        """Such as those of /proc: the kernel neither has their size nor sends them."""
        data = Path("/proc/version").read_bytes()
        with open_file("/proc/version") as descriptor:
            post(carrier, body_of_file("version", descriptor, 0, len(data)))
        assert fickle.bodies == [data]


class TestAddresses:
    def test_a_path_in_front_of_the_api_is_quoted(self, fickle: FickleServer, make_carrier: MakeCarrier) -> None:
        for path, sent in (("/实验", "/%E5%AE%9E%E9%AA%8C"), ("/a b/", "/a%20b"), ("/%E5/x", "/%E5/x")):
            assert post(make_carrier(fickle.url + path.rstrip("/"))) == b"{}"
            assert fickle.paths[-1] == f"{sent}/api/v1/runs"

    def test_requests_say_who_sends_them(self, fickle: FickleServer, carrier: Carrier) -> None:
        post(carrier)
        assert "user-agent" in fickle.headers[0]


class TestAnswers:
    def test_one_that_is_too_large_is_refused(self, fickle: FickleServer, carrier: Carrier) -> None:
        fickle.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + bytes(100)
        with pytest.raises(Damaged, match="an answer of"), carrier.open(Request("GET", "/x")) as answer:
            answer.read(99)

    def test_one_without_a_length_is_read_to_its_end(self, fickle: FickleServer, carrier: Carrier) -> None:
        fickle.answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        with carrier.open(Request("GET", "/x")) as answer:
            assert answer.read() == b"abcde"
        with carrier.open(Request("GET", "/x")) as answer:
            assert b"".join(bytes(block) for block in answer.blocks()) == b"abcde"

    def test_one_that_is_not_read_does_no_harm(self, fickle: FickleServer, carrier: Carrier) -> None:
        with carrier.open(Request("GET", "/x")) as answer:
            assert answer.status == 200
        assert post(carrier) == b"{}"

    def test_a_head_has_no_body_and_keeps_its_connection(self, fickle: FickleServer, carrier: Carrier) -> None:
        fickle.answer = b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: "x"\r\n\r\n'
        for _ in range(2):
            with carrier.open(Request("HEAD", "/x")) as answer:
                assert (answer.header("etag"), answer.header("nothing")) == ('"x"', "")
        assert fickle.num_connections == 1

    def test_a_redirect_is_for_the_caller(self, fickle: FickleServer, carrier: Carrier) -> None:
        fickle.answer = b"HTTP/1.1 307 x\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n"
        with carrier.open(Request("GET", "/x")) as answer:
            assert (answer.status, answer.header("Location")) == (307, "http://elsewhere/")

    def test_without_a_word_the_status_says_it(self, fickle: FickleServer, carrier: Carrier) -> None:
        fickle.answer = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\n<h1>"
        with pytest.raises(Refused, match="Bad Gateway") as caught:
            post(carrier)
        assert (caught.value.status, caught.value.error) == (502, "")


class TestServices:
    def test_nothing_of_ours_is_sent_there(self, fickle: FickleServer, carrier: Carrier) -> None:
        headers = {"Content-MD5": "x"}
        granted = Granted("PUT", f"{fickle.url}/key?sign=1", body_of(b"part"), headers)
        with carrier.open_granted(granted) as answer:
            assert answer.read() == b"{}"
        (sent,) = fickle.headers
        assert sent["content-md5"] == "x"
        assert "authorization" not in sent
        assert "token" not in str(sent)

    def test_one_that_cannot_be_reached_is_remembered(self, fickle: FickleServer, carrier: Carrier) -> None:
        assert carrier.reaches_services
        fickle.stop()
        with pytest.raises(NotConnected), carrier.open_granted(Granted("GET", f"{fickle.url}/key")):
            pass
        assert not carrier.reaches_services

    def test_its_own_code_is_passed_on(self, fickle: FickleServer, carrier: Carrier) -> None:
        body = b"<?xml version='1.0'?><Error><Code>BadDigest</Code></Error>"
        fickle.answer = b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        with (
            pytest.raises(Refused, match="answered 400 BadDigest") as caught,
            carrier.open_granted(Granted("PUT", f"{fickle.url}/key", body_of(b"x"))),
        ):
            pass
        assert caught.value.error == "BadDigest"
        assert carrier.reaches_services
