"""A job with a program on a port, and a browser that uses it."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from danlu.client import Client
from danlu.client.jobs.job import Job
from danlu.testing.waiting import HANG_SECONDS

APP = Path(__file__).parent / "endpoint_app.py"
COOKIE = "danlu_endpoint"
PIECE = bytes(range(256)) * 1024


def start_app(client: Client, port: int = 8080, **fields: Any) -> Job:
    """Submit a job whose program listens on a port, and wait until it does."""
    command = ["python3", "-c", APP.read_text(), str(port)]
    job = client.jobs.submit({"name": "app", "command": command, "endpoints": [port], **fields})
    for line in job.logs(follow=True):
        assert line.text == "listens", line
        break
    return job


class Browser:
    """Speaks to one endpoint as a browser would, without looking up its name."""

    def __init__(self, link: str, *, address: str = "", **headers: str) -> None:
        """Does not use the link yet. `address` is that of a proxy before the server's own."""
        url = httpx.URL(link)
        self.host, self.enter_path = url.netloc.decode(), url.raw_path.decode()
        self.origin = f"{url.scheme}://{self.host}"
        self.address = address or f"127.0.0.1:{url.port}"
        self.http = httpx.Client(
            base_url=f"http://{self.address}",
            headers={"Host": self.host, **headers},
            trust_env=False,
            timeout=HANG_SECONDS,
        )

    def enter(self) -> Browser:
        answer = self.http.get(self.enter_path)
        assert answer.status_code == 303, answer.text
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        self.http.headers["Cookie"] = self.cookie
        return self

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.http.get(path, headers=headers)

    @contextmanager
    def websocket(self, path: str = "/echo", *, origin: str | None = None) -> Iterator[ClientConnection]:
        host, _, port = self.address.partition(":")
        with socket.create_connection((host, int(port))) as sock:
            headers = {"Cookie": str(self.http.headers.get("Cookie", ""))}
            opened = connect(
                f"ws://{self.host}{path}",
                sock=sock,
                additional_headers=headers,
                origin=Origin(origin or self.origin),
                max_size=None,
                proxy=None,
                legacy=True,
            )
            with opened:
                yield opened

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()


def browser_of(job: Job, port: int = 8080) -> Browser:
    return Browser(job.endpoints.link(port).url).enter()


def pieces(num_bytes: int) -> Iterator[bytes]:
    for start in range(0, num_bytes, len(PIECE)):
        yield PIECE[: min(len(PIECE), num_bytes - start)]


def digest_of(num_bytes: int) -> str:
    digest = hashlib.sha256()
    for piece in pieces(num_bytes):
        digest.update(piece)
    return digest.hexdigest()
