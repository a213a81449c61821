"""The sync protocol of docs/formats/journal.md, and artifacts, in memory, with as much bad luck as a test asks for."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable

_JOURNAL = re.compile(r"/api/v1/runs/([^/]+)/journals/([0-9a-f]{32})(?:\?offset=(\d+))?$")
_UPLOAD = re.compile(r"/api/v1/artifacts/uploads/([^/]+)/(lacking|chunks|commit)$")
_LINKS = re.compile(r"/api/v1/artifacts/versions/([^/]+)/links$")


def accepts_all(_method: str, _path: str, _body: bytes) -> int:
    """Refuse nothing."""
    return 0


class RunServer:
    """What arrived, and how often something goes wrong."""

    def __init__(self, *, mischief: float = 0.0, seed: int = 0) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        self.journals: dict[tuple[str, str], bytearray] = {}
        self.deleted: set[str] = set()
        self.names: dict[str, str] = {}
        """Id of an artifact that was begun -> its name."""

        self.versions: dict[str, list[str]] = {}
        """Name -> ids of artifacts, in the order in which they were committed."""

        self.links: set[tuple[str, str]] = set()
        """(artifact, run)"""

        self.refuse: Callable[[str, str, bytes], int] = accepts_all
        """Method, path and body of a request -> the status that it is refused with, or 0."""

        self.refusals: list[str] = []
        self.token = "a-token"
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
        if self._is_unlucky() or self._is_refused(body):
            return
        if "/artifacts/" in self.path:
            self._take_artifact(body)
            return
        header = json.loads(body)
        self.mind.runs.setdefault(header["run"], header)
        if not self._is_unlucky():
            self._answer(200, {"id": header["run"]})

    def do_GET(self) -> None:
        run, journal, _ = self._wanted()
        if self._is_refused(b""):
            return
        if not self._is_unlucky() and not self._is_deleted(run):
            self._answer(200, {"offset": len(self.mind.journals.get((run, journal), b""))})

    def do_PUT(self) -> None:
        data = self._body()
        run, journal, offset = self._wanted()
        if self._is_unlucky() or self._is_refused(data) or self._is_deleted(run):
            return
        has = self.mind.append(run, journal, int(offset), data)
        if not self._is_unlucky():
            self._answer(200, {"offset": has})

    def _take_artifact(self, body: bytes) -> None:
        upload, link = _UPLOAD.match(self.path), _LINKS.match(self.path)
        if link is not None:
            run = json.loads(body)["run"]
            if run not in self.mind.runs:
                self._answer(404, {"error": "NotFound", "message": f"no run {run}"})
                return
            self.mind.links.add((link[1], run))
            self._answer(200, {})
        elif upload is None:
            begin = json.loads(body)
            self.mind.names[begin["artifact"]] = begin["name"]
            self._answer(200, {"id": begin["artifact"]})
        elif upload[2] == "commit":
            name = self.mind.names[upload[1]]
            versions = self.mind.versions.setdefault(name, [])
            versions.append(upload[1])
            self._answer(200, {"version": len(versions), "name": name})
        else:
            self._answer(200, {"lacking": json.loads(body)["digests"]} if upload[2] == "lacking" else {})

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

    def _is_refused(self, body: bytes) -> bool:
        status = self.mind.refuse(self.command, self.path, body)
        if not status:
            return False
        self.mind.refusals.append(f"{self.command} {self.path}")
        self._answer(status, {"error": "Error", "message": "not now"})
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
