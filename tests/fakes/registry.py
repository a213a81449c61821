"""A registry of images on this machine: TLS, tokens for private ones, and blobs behind a redirect."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.server
import io
import json
import platform
import ssl
import tarfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
PASSWORD = "li:right"
TOKEN = "a-token-of-the-registry"


@dataclass
class Registry:
    """What it has, and what it was asked for with which proof."""

    port: int = 0
    blobs: dict[str, bytes] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    """`repository:tag` -> digest."""

    private: set[str] = field(default_factory=set)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def add(self, data: bytes) -> str:
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self.blobs[digest] = data
        return digest

    def add_image(self, name: str, layers: Sequence[bytes], *, env: Sequence[str] = (), machine: str = MACHINE) -> str:
        """Offer an image as NAME; return how jobs call it."""
        config = self.add(json.dumps({"config": {"Env": list(env)}}).encode())
        manifest = {
            "schemaVersion": 2,
            "config": {"digest": config, "size": len(self.blobs[config])},
            "layers": [{"digest": self.add(layer), "size": len(layer)} for layer in layers],
        }
        one = self.add(json.dumps(manifest).encode())
        choice = {"digest": one, "platform": {"os": "linux", "architecture": machine}}
        self.tags[name] = self.add(json.dumps({"manifests": [choice]}).encode())
        return f"localhost:{self.port}/{name}"


def layer(files: Mapping[str, bytes | None], *, links: Mapping[str, str] | None = None) -> bytes:
    """A layer with these files, folders (None) and links."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.mode = 0o755
            info.type, info.size = (tarfile.DIRTYPE, 0) if data is None else (tarfile.REGTYPE, len(data))
            archive.addfile(info, io.BytesIO(data or b""))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return gzip.compress(packed.getvalue(), compresslevel=1)


@contextmanager
def running_registry(certificate: Path) -> Iterator[Registry]:
    registry = Registry()

    class Handler(_Handler):
        has = registry

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    registry.port = int(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(http.server.BaseHTTPRequestHandler):
    has: Registry
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        proof = self.headers["Authorization"] or ""
        path = self.path.partition("?")[0]
        self.has.asked.append((path, proof))
        if path == "/token":
            is_right = proof == "Basic " + base64.b64encode(PASSWORD.encode()).decode()
            return self._answer(200 if is_right else 401, json.dumps({"token": TOKEN}).encode() if is_right else b"{}")
        if path.startswith("/elsewhere/"):
            return self._answer(200, self.has.blobs[path.rpartition("/")[2]])
        repository, _, rest = path[len("/v2/") :].partition("/manifests/")
        if not rest:
            repository, _, rest = path[len("/v2/") :].partition("/blobs/")
        if repository in self.has.private and proof != f"Bearer {TOKEN}":
            realm = f'Bearer realm="https://localhost:{self.has.port}/token",service="fake"'
            return self._answer(401, b"", **{"WWW-Authenticate": realm})
        if "/blobs/" in path:
            return self._answer(307, b"", Location=f"https://127.0.0.1:{self.has.port}/elsewhere/{rest}")
        data = self.has.blobs.get(self.has.tags.get(f"{repository}:{rest}", rest))
        return self._answer(404, b"") if data is None else self._answer(200, data)

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass
