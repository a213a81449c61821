"""The sync protocol of docs/formats/journal.md in memory, with as much bad luck as a test asks for."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_JOURNAL = re.compile(r"/api/v1/runs/([^/]+)/journals/([0-9a-f]{32})(?:\?offset=(\d+))?$")


class RunServer:
    """What arrived, and how often something goes wrong."""

    def __init__(self, *, mischief: float = 0.0, seed: int = 0) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        self.journals: dict[tuple[str, str], bytearray] = {}
        self.deleted: set[str] = set()
        self.lock = threading.Lock()
        self.mischief = mischief
        self.chance = random.Random(seed)
        self.url = ""

    def append(self, run: str, journal: str, offset: int, data: bytes) -> int:
        with self.lock:
            has = self.journals.setdefault((run, journal), bytearray())
            if offset <= len(has) < offset + len(data):
                has += data[len(has) - offset :]
            return len(has)

    @contextmanager
    def serving(self) -> Iterator[RunServer]:
        handler = type("Handler", (_Handler,), {"mind": self})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    mind: RunServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        return

    def do_POST(self) -> None:
        body = self._body()
        if self._is_unlucky():
            return
        header = json.loads(body)
        self.mind.runs.setdefault(header["run"], header)
        if not self._is_unlucky():
            self._answer(200, {"id": header["run"]})

    def do_GET(self) -> None:
        run, journal, _ = self._wanted()
        if not self._is_unlucky() and not self._is_deleted(run):
            self._answer(200, {"offset": len(self.mind.journals.get((run, journal), b""))})

    def do_PUT(self) -> None:
        data = self._body()
        run, journal, offset = self._wanted()
        if self._is_unlucky() or self._is_deleted(run):
            return
        has = self.mind.append(run, journal, int(offset), data)
        if not self._is_unlucky():
            self._answer(200, {"offset": has})

    def _wanted(self) -> tuple[str, str, str]:
        found = _JOURNAL.match(self.path)
        assert found is not None, self.path
        return found[1], found[2], found[3] or "0"

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def _is_deleted(self, run: str) -> bool:
        if run not in self.mind.deleted:
            return False
        self._answer(404, {"error": "NotFound", "message": f"run {run} was deleted"})
        return True

    def _is_unlucky(self) -> bool:
        """Break the connection off, before or after the work was done."""
        with self.mind.lock:
            is_now = self.mind.chance.random() < self.mind.mischief
        if is_now:
            self.close_connection = True
            self.connection.close()
        return is_now

    def _answer(self, status: int, values: dict[str, Any]) -> None:
        body = json.dumps(values).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
