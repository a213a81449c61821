"""Bodies of requests on connections of every kind, and what is left of one that is not taken to its end."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import io
import random
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
import uvicorn
from fastapi import FastAPI, Request
from tests.support.certificates import make_certificate

from danlu.server.bodies.receiving import PIECE_BYTES, receive, receive_whole
from danlu.server.protocol import MIN_DIRECT_BYTES, ConnectionLimits, HttpProtocol
from danlu.spec.paths import StorePath
from danlu.store.objects.base import Bytes, ObjectInfo, Writer
from danlu.store.objects.local import LocalObjects
from danlu.testing.waiting import HANG_SECONDS, wait_until

SIZES = (MIN_DIRECT_BYTES, MIN_DIRECT_BYTES + 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 7)


class Counting(HttpProtocol):
    """Counts the bytes that come past h11."""

    limits = ConnectionLimits(request_seconds=HANG_SECONDS, reading_seconds=HANG_SECONDS)
    num_direct: ClassVar[int] = 0

    def _count(self, num_bytes: int) -> None:
        Counting.num_direct += num_bytes
        super()._count(num_bytes)


def make_app(folder: Path) -> FastAPI:
    app, objects = FastAPI(), LocalObjects(folder)

    @app.post("/whole")
    async def whole(request: Request) -> str:
        return hashlib.sha256(await receive_whole(request, 64 << 20)).hexdigest()

    @app.post("/stored")
    async def stored(request: Request) -> str:
        info = await receive(request, objects.put(StorePath("bucket", "key")), None)
        return str(info.sha256)

    @app.get("/next")
    async def following() -> str:
        return "next"

    return app


@contextmanager
def serving(app: FastAPI, certificate: Path | None) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, http=Counting, loop="asyncio", log_level="error", lifespan="off")
        if certificate is not None:
            config.ssl_certfile = config.ssl_keyfile = str(certificate)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        wait_until(lambda: server.started)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(params=["plain", "TLS"], scope="module")
def connect(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Opens connections to a server of the kind."""
    folder = tmp_path_factory.mktemp("bodies")
    certificate = make_certificate(folder) if request.param == "TLS" else None
    context = None if certificate is None else ssl.create_default_context(cafile=str(certificate))
    with serving(make_app(folder), certificate) as port:

        def make() -> socket.socket:
            plain = socket.create_connection(("127.0.0.1", port), timeout=HANG_SECONDS)
            return plain if context is None else context.wrap_socket(plain, server_hostname="localhost")

        yield make


@pytest.mark.parametrize("path", ["/whole", "/stored"])
@pytest.mark.parametrize("size", SIZES)
def test_a_request_right_behind_a_body_is_not_taken_for_it(connect: Any, path: str, size: int) -> None:
    data = random.Random(size).randbytes(size)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode()
    following = b"GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect() as connection:
        connection.sendall(head + data + following)
        assert _answer(connection) == f'"{hashlib.sha256(data).hexdigest()}"'
        assert _answer(connection) == '"next"'


@pytest.mark.parametrize("path", ["/whole", "/stored"])
def test_large_bodies_do_come_past_h11(connect: Any, path: str) -> None:
    """It rests on names inside of h11. Without them all works, only slowly."""
    size = 3 * PIECE_BYTES
    before = Counting.num_direct
    with connect() as connection:
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode())
        connection.sendall(bytes(size))
        assert _answer(connection) == f'"{hashlib.sha256(bytes(size)).hexdigest()}"'
    assert Counting.num_direct - before > size // 2


def _answer(connection: socket.socket) -> str:
    """The body of the next answer. Its head is read byte by byte: nothing of the one behind it is lost."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        more = connection.recv(1)
        assert more, head
        head += more
    found = http.client.parse_headers(io.BytesIO(head.partition(b"\r\n")[2]))
    left, body = int(found["Content-Length"]), b""
    while len(body) < left:
        body += connection.recv(left - len(body))
    assert head.startswith(b"HTTP/1.1 200 "), body
    return body.decode()


class SlowWriter(Writer):
    def __init__(self) -> None:
        self.writes, self.may_end, self.is_aborted = threading.Event(), threading.Event(), False

    def write(self, data: Bytes) -> None:
        self.writes.set()
        self.may_end.wait()

    def commit(self, sha256: str | None = None) -> ObjectInfo:
        raise AssertionError("there is more to come")

    def abort(self) -> None:
        self.is_aborted = True


def test_a_request_that_is_cancelled_while_it_is_written_leaves_nothing() -> None:
    """As at the end of a server that does not wait for its uploads."""

    async def more() -> dict[str, Any]:
        return {"type": "http.request", "body": bytes(PIECE_BYTES), "more_body": True}

    async def cancel() -> None:
        headers = [(b"content-length", b"99999999")]
        request = Request({"type": "http", "method": "PUT", "headers": headers}, more)
        task = asyncio.create_task(receive(request, writer, None))
        await asyncio.to_thread(writer.writes.wait)
        task.cancel()
        asyncio.get_running_loop().call_soon(writer.may_end.set)
        with pytest.raises(asyncio.CancelledError):
            await task

    writer = SlowWriter()
    asyncio.run(cancel())
    assert writer.is_aborted
