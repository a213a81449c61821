"""A peer that speaks just enough HTTP to break a connection wherever a test wants it to break."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, Optional

import pytest


class Asked(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Reply(NamedTuple):
    data: bytes
    holds: bool = False
    """Whether the connection then stays open, without a word."""


class Peer:
    """Answers each connection with the next reply of its script, word for word, and hangs up."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._done = threading.Event()
        self._script: list[Reply] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked: list[Asked] = []
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def hangs_up(self) -> None:
        self._script.append(Reply(b""))

    def says_nothing(self) -> None:
        self._script.append(Reply(b"", holds=True))

    def answers(self, body: bytes, *headers: str, status: str = "200 OK", length: Optional[int] = None) -> None:
        """`length` announces another length than the body has."""
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
        self._script.append(Reply("\r\n".join([*lines, "Connection: close", "", ""]).encode() + body))

    def answers_json(self, value: object, *, status: str = "200 OK") -> None:
        self.answers(json.dumps(value).encode(), "Content-Type: application/json", status=status)

    def streams(self, *events: tuple[str, object], is_whole: bool = True, holds: bool = False) -> None:
        """Events; a stream that is not whole is cut off without its last chunk."""
        data = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        for name, value in events:
            event = f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()
            data += f"{len(event):x}\r\n".encode() + event + b"\r\n"
        self._script.append(Reply(data + (b"0\r\n\r\n" if is_whole and not holds else b""), holds))

    def close(self) -> None:
        self._done.set()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            asked = _read_request(stream)
            if asked is None:
                return
            self.asked.append(asked)
            reply = self._script.pop(0) if self._script else Reply(b"")
            connection.sendall(reply.data)
            if reply.holds:
                self._done.wait()


def _read_request(stream: BinaryIO) -> Optional[Asked]:
    first = stream.readline().decode().split()
    if len(first) < 2:
        return None
    headers = {}
    while line := stream.readline().strip().decode():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return Asked(first[0], first[1], headers, stream.read(int(headers.get("content-length", 0))))


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    yield made
    made.close()
