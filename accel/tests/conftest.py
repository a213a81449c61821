"""What the tests of several parts share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any, in_the_middle: Callable[[str], None], **more: Any) -> None:
        self._in_the_middle = in_the_middle
        super().__init__(*arguments, **more)

    def copyfile(self, source: Any, outputfile: Any) -> None:
        data = source.read()
        outputfile.write(data[: len(data) // 2])
        outputfile.flush()
        self._in_the_middle(self.path)
        outputfile.write(data[len(data) // 2 :])

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def http_folder() -> Iterator[Callable[..., str]]:
    """Serve a folder over HTTP; `in_the_middle(path)` is called when half of a file is sent."""
    servers: list[ThreadingHTTPServer] = []

    def start(folder: Path, in_the_middle: Callable[[str], None] = lambda _: None) -> str:
        handler = partial(_Handler, directory=str(folder), in_the_middle=in_the_middle)
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
