"""Raw HTTP, for clients that do not read responses, send incomplete requests, or send slowly."""

from __future__ import annotations

import json
import socket
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from danlu.testing.waiting import HANG_SECONDS

TCP_ESTABLISHED = 1


class RawConnection:
    """A connection to a server on which the test sends raw bytes."""

    def __init__(self, url: str, *, receive_bytes: int | None = None, source: str | None = None) -> None:
        """`receive_bytes`: size of the receive buffer. `source`: local address."""
        address = urlsplit(url)
        self._host = address.netloc
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_bytes is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        if source is not None:
            self._socket.bind((source, 0))
        self._socket.settimeout(HANG_SECONDS)
        self._socket.connect((address.hostname or "127.0.0.1", address.port or 80))
        self._rest = b""

    def ask(self, method: str, path: str, key: str | None = None, **headers: str) -> RawConnection:
        """Send a request without its body."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._host}"]
        lines += [f"Authorization: Bearer {key}"] if key is not None else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join([*lines, "", ""]).encode())
        return self

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def send_chunk(self, data: bytes) -> None:
        """Send a piece of a chunked body; an empty one ends it."""
        self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def wait_seconds(self, seconds: float) -> None:
        """Set the timeout for responses, after which TimeoutError is raised."""
        self._socket.settimeout(seconds)

    def is_cut(self) -> bool:
        """Whether the server has closed the connection. Does not read what it sent before."""
        state = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        return state != TCP_ESTABLISHED

    def status(self) -> int:
        """Read the head of the response and return its status. Raise ConnectionError if there is none."""
        return self.head()[0]

    def head(self) -> tuple[int, dict[str, str]]:
        while b"\r\n\r\n" not in self._rest:
            self._rest += self._more()
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        return int(first.split()[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}

    def answer(self) -> tuple[int, dict[str, str], Any]:
        """Status, headers and JSON of a response with a Content-Length."""
        status, headers = self.head()
        size = int(headers["content-length"])
        while len(self._rest) < size:
            self._rest += self._more()
        body, self._rest = self._rest[:size], self._rest[size:]
        return status, headers, json.loads(body)

    def read_until(self, text: bytes) -> bytes:
        """Read up to and including this text; return it all."""
        while text not in self._rest:
            self._rest += self._more()
        found, _, self._rest = self._rest.partition(text)
        return found + text

    def read_to_end(self) -> bytes:
        """Read until the server closes the connection."""
        found = bytearray(self._rest)
        try:
            while piece := self._socket.recv(1 << 16):
                found += piece
        except ConnectionResetError:
            pass
        return bytes(found)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _more(self) -> bytes:
        data = self._socket.recv(1 << 16)
        if not data:
            raise ConnectionError(f"the server closed the connection after {self._rest[-500:]!r}")
        return data


def unchunked(data: bytes) -> bytes:
    """The body of a chunked response, as far as it has been received."""
    body = bytearray()
    while b"\r\n" in data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            break
        body += data[:length]
        data = data[length + 2 :]
    return bytes(body)
