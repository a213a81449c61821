"""Receivers of webhooks that do their worst: everybody's deliveries wait for a round to end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from danlu.server.webhooks.addresses import parse_networks
from danlu.server.webhooks.sending import Message, Outcome, post

ANSWER = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def receiver(first: bytes) -> Iterator[int]:
    """Says something at once, and then a byte now and then, for ever."""
    ended = threading.Event()

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            try:
                connection.sendall(first)
                while not ended.wait(0.02):
                    connection.sendall(b"x")
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        ended.set()
        thread.join()


def send(port: int) -> Outcome:
    message = Message("msg_1", f"http://127.0.0.1:{port}/hook", "whsec_c2VjcmV0", "test", b"{}", timestamp=1)
    return post(message, parse_networks("127.0.0.0/8"), timeout_seconds=0.5)


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200 OK\r\nX-Long: "])
def test_one_that_trickles_is_given_up(first: bytes) -> None:
    with receiver(first) as port:
        outcome = send(port)
    assert not outcome.is_delivered
    assert "did not answer" in outcome.problem


def test_an_endless_answer_is_not_read() -> None:
    with receiver(ANSWER + b"Transfer-Encoding: chunked\r\n\r\nfffff\r\n") as port:
        assert send(port) == Outcome(True, status=200)
