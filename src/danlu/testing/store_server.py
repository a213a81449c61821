"""A store in memory with the routes that a stager uses. Real HTTP on loopback; for tests only."""

from __future__ import annotations

import hashlib
import json
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from danlu.content.packs import pack, unpack
from danlu.spec.paths import check_key
from danlu.wire.store import Tree, TreeFile

PREFIX = "/api/v1"
PAGE = 100


@dataclass
class StoreServer:
    """Objects and blobs, and a server that can be stopped and restarted on the same port."""

    token: str = "a-token"
    objects: dict[str, bytes] = field(default_factory=dict)
    """`bucket/key` -> content."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    trees: dict[str, Tree] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    fail_after_bytes: int | None = None
    """Interrupt one response after this many bytes."""

    tells_digests: bool = False
    """Whether responses contain the SHA-256 of objects."""

    refused: set[str] = field(default_factory=set)
    """`bucket/key` of objects that it rejects."""

    host: str = "127.0.0.1"
    port: int = 0
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def add_tree(self, files: Mapping[str, bytes], *, executable: tuple[str, ...] = ()) -> str:
        """Store a folder by content and return its digest."""
        tree = Tree(
            files=[
                TreeFile(
                    path=path,
                    sha256=hashlib.sha256(content).hexdigest(),
                    size=len(content),
                    is_executable=path in executable,
                )
                for path, content in files.items()
            ]
        )
        self.blobs.update({hashlib.sha256(content).hexdigest(): content for content in files.values()})
        self.trees[tree.digest] = tree
        return tree.digest

    def come(self) -> None:
        """Start the server."""
        store = self

        class Handler(_Handler):
            state = store

        self._server = _Server((self.host, self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def go(self) -> None:
        """Stop the server; connections are refused until `come`."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@contextmanager
def running_store(host: str = "127.0.0.1") -> Iterator[StoreServer]:
    store = StoreServer(host=host)
    store.come()
    try:
        yield store
    finally:
        store.go()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors of connections: some tests kill clients."""


class _Handler(BaseHTTPRequestHandler):
    state: StoreServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        path = self._checked()
        if path is None:
            return
        if path.startswith("/trees/"):
            tree = self.state.trees.get(path[len("/trees/") :])
            self._answer(404 if tree is None else 200, tree.model_dump_json().encode() if tree else None)
        elif path.startswith("/blobs/"):
            blob = self.state.blobs.get(path[len("/blobs/") :])
            self._answer(404 if blob is None else 200, blob)
        elif path.endswith("/objects"):
            self._list(path)
        else:
            found = self.state.objects.get(_object_name(path))
            self._answer(404 if found is None else 200, found)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        path = self._checked()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if path is None:
            return
        bucket = path.split("/")[2]
        if path == "/blobs/reads":
            found = {digest: self.state.blobs[digest] for digest in json.loads(body)["digests"]}
            header = [{"sha256": digest, "size": len(data)} for digest, data in found.items()]
            self._answer(200, pack(header, found.values()))
        elif path.endswith("/reads"):
            self._answer(200, self._read_batch(bucket, json.loads(body)["keys"]))
        else:
            self._answer(200, self._put_batch(bucket, body))

    def _read_batch(self, bucket: str, keys: list[str]) -> bytes:
        pieces, header = [], []
        for key in keys:
            data = self.state.objects.get(f"{bucket}/{key}")
            header.append({"key": key, "is_missing": True} if data is None else {"key": key, "size": len(data)})
            pieces.append(data or b"")
        return pack(header, pieces)

    def _put_batch(self, bucket: str, body: bytes) -> bytes:
        header, rest = unpack(body)
        refused, begin = [], 0
        for item in header:
            name, data = f"{bucket}/{item['key']}", bytes(rest[begin : begin + item["size"]])
            begin += item["size"]
            if name in self.state.refused or not _is_key(item["key"]):
                told = f"the test store says {422}"
                refused.append({"key": item["key"], "status": 422, "error": "InvalidInput", "message": told})
            else:
                assert hashlib.sha256(data).hexdigest() == item["sha256"]
                self.state.objects[name] = data
        return json.dumps({"num_stored": len(header) - len(refused), "refused": refused}).encode()

    def do_PUT(self) -> None:
        path = self._checked()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if path is None:
            return
        wanted = self.headers.get("X-Danlu-SHA256")
        if wanted is not None and hashlib.sha256(body).hexdigest() != wanted:
            self._answer(422, None, error="BadChecksum")
            return
        if _object_name(path) in self.state.refused or not _is_key(_object_name(path).partition("/")[2]):
            self._answer(422, None)
            return
        self.state.objects[_object_name(path)] = body
        self._answer(200, b"{}")

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: `requests` has all requests."""

    def _checked(self) -> str | None:
        self.state.requests.append(f"{self.command} {self.path}")
        if self.headers.get("Authorization") != f"Bearer {self.state.token}":
            self.close_connection = True
            self._answer(401, None)
            return None
        return urllib.parse.unquote(urllib.parse.urlsplit(self.path).path[len(PREFIX) :])

    def _list(self, path: str) -> None:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        bucket = path.split("/")[2]
        start = f"{bucket}/{query.get('prefix', [''])[0]}"
        names = sorted(name for name in self.state.objects if name.startswith(start))
        cursor = int(query.get("cursor", ["0"])[0])
        rows = [
            {"key": name[len(bucket) + 1 :], "size": len(self.state.objects[name]), "modified_at": 0}
            for name in names[cursor : cursor + PAGE]
        ]
        more = str(cursor + PAGE) if cursor + PAGE < len(names) else None
        self._answer(200, json.dumps({"objects": rows, "folders": [], "next": more}).encode())

    def _answer(self, status: int, body: bytes | None, *, error: str = "Error") -> None:
        if body is None:
            body = json.dumps({"error": error, "message": f"the test store says {status}", "fields": {}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if self.state.tells_digests and status == 200:
            self.send_header("X-Danlu-SHA256", hashlib.sha256(body).hexdigest())
        self.end_headers()
        if self.command == "HEAD":
            return
        cut, self.state.fail_after_bytes = self.state.fail_after_bytes, None
        if cut is not None and cut < len(body):
            self.wfile.write(body[:cut])
            self.close_connection = True
            return
        if cut is not None:
            self.state.fail_after_bytes = cut
        self.wfile.write(body)


def _is_key(key: str) -> bool:
    try:
        check_key(key)
    except ValueError:
        return False
    return True


def _object_name(path: str) -> str:
    _, _, bucket, _, key = path.split("/", 4)
    return f"{bucket}/{key}"
