"""Connections that say nothing, say it slowly, or do not listen: each has a deadline, and none holds up another."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.support.abuse import Scene, serving
from tests.support.world import Api, World

from danlu.testing.raw_http import RawConnection
from danlu.testing.waiting import wait_until

HEAD = b"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


@pytest.fixture
def hasty(world: World) -> Iterator[Scene]:
    """A server that does not wait long."""
    with serving(world, request_seconds=1.0, reading_seconds=1.0) as made:
        yield made


class TestHeads:
    def test_three_hundred_that_never_end_are_cut_off(self, hasty: Scene) -> None:
        with ExitStack() as stack:
            held = [stack.enter_context(hasty.raw()) for _ in range(300)]
            for connection in held:
                connection.send(HEAD)
            hasty.bob_works()
            for connection in held:
                status, headers, body = connection.answer()
                assert (status, headers["connection"], body["error"]) == (408, "close", "RequestTimeout")
                assert connection.read_to_end() == b""

    def test_one_that_trickles_is_cut_off_too(self, hasty: Scene) -> None:
        with hasty.raw() as connection:
            connection.send(HEAD)
            told = b""
            while not told:  # a byte now and then, for as long as it takes
                told = _send_slowly(connection)
            assert told.startswith(b"HTTP/1.1 408 ")

    def test_a_connection_that_is_never_used_is_closed_without_a_word(self, hasty: Scene) -> None:
        with hasty.raw() as connection:
            assert connection.read_to_end() == b""

    def test_a_second_request_that_never_ends(self, hasty: Scene) -> None:
        with hasty.raw() as connection:
            assert connection.ask("GET", "/api/v1/health").answer()[0] == 200
            connection.send(HEAD)
            assert connection.answer()[0] == 408

    def test_a_head_that_is_too_long_is_refused(self, scene: Scene) -> None:
        with scene.raw() as connection:
            connection.send(HEAD + b"x" * (1 << 20))
            assert connection.status() == 400
        scene.bob_works()


class TestBodies:
    @pytest.mark.parametrize("path", ["/jobs", "/buckets/eves/objects/file"])
    def test_one_that_stops_in_the_middle_is_cut_off(self, hasty: Scene, path: str) -> None:
        method = "POST" if path == "/jobs" else "PUT"
        with ExitStack() as stack:
            held = [stack.enter_context(hasty.ask(method, path, Content_Length="60000")) for _ in range(10)]
            for connection in held:
                connection.send(b'{"spec"')
            hasty.bob_works()
            assert {connection.answer()[0] for connection in held} == {408}

    def test_one_that_is_slow_and_goes_on_is_taken(self, world: World) -> None:
        """It takes longer than the deadline, and brings enough all the time: a slow line is no attack."""
        with serving(world, request_seconds=3.0) as scene, scene.raw() as connection:
            size = 8 * (32 << 10)
            connection.ask("PUT", "/api/v1/buckets/eves/objects/slow", scene.eve, Content_Length=str(size))
            for _ in range(8):
                connection.send(b"x" * (32 << 10))
                threading.Event().wait(0.5)
            assert connection.answer()[0] == 200


class TestAnswers:
    def test_files_that_nobody_reads_are_not_kept_for_them(self, hasty: Scene) -> None:
        with Api(hasty.url, hasty.eve) as api:
            assert api("PUT", "/buckets/eves/objects/big", content=b"x" * (30 << 20)).status_code == 200
        with ExitStack() as stack:
            held = [stack.enter_context(hasty.ask("GET", "/buckets/eves/objects/big")) for _ in range(30)]
            assert {connection.status() for connection in held} == {200}
            hasty.bob_works()
            for connection in held:
                wait_until(connection.is_cut)

    def test_a_short_answer_that_nobody_reads_does_not_keep_a_connection(self, world: World) -> None:
        """It fits into what the kernel takes; the server is done with it after the usual time between requests."""
        with serving(world) as scene, scene.raw(receive_bytes=4096) as connection:
            connection.ask("GET", "/api/v1/health")
            connection.read_to_end()


class TestAddresses:
    def test_one_address_does_not_take_all_connections(self, world: World) -> None:
        with serving(world, max_connections_per_address=50) as scene, ExitStack() as stack:
            held = [stack.enter_context(RawConnection(scene.url, source="127.0.0.2")) for _ in range(50)]
            with RawConnection(scene.url, source="127.0.0.2") as one_too_many:
                assert one_too_many.read_to_end() == b""
            scene.bob_works()  # he comes from 127.0.0.1
            held.pop().close()
            for _ in range(100):
                with RawConnection(scene.url, source="127.0.0.2") as again:
                    if again.ask("GET", "/api/v1/health").read_to_end():
                        return
            raise AssertionError("a closed connection makes no room")


def test_thousands_of_requests_in_one_packet(scene: Scene) -> None:
    """They are answered one after the other, and others are answered meanwhile."""
    with scene.raw() as connection:
        one = f"GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {scene.eve}\r\n\r\n".encode()
        connection.send(one * 1000)
        scene.bob_works()
        for _ in range(1000):
            assert connection.answer()[0] == 200


def _send_slowly(connection: RawConnection) -> bytes:
    """Send a byte; return what the server says, if it says anything within a moment."""
    connection.wait_seconds(0.2)
    try:
        connection.send(b"x")
        return connection.read_until(b"\r\n")
    except TimeoutError:
        return b""
