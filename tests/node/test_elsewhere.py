"""Inputs from https:// and s3:// addresses: a real TLS server on this machine, and the stager as a process."""

from __future__ import annotations

import hashlib
import http.server
import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from tests.support.certificates import make_certificate
from tests.support.tasks import make_task

from danlu.node.stage import s3, stager
from danlu.node.task import TASK, TaskElsewhere, TaskInput, to_json

DATA = b"0123456789" * 1000
SHA256 = hashlib.sha256(DATA).hexdigest()
Fetch = Callable[..., str]
LOOPBACK = ("127.0.0.0/8", "::1/128")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    objects = {"data/a.txt": b"a", "data/deep/b.txt": b"b", "database": b"not this"}
    moved = {
        "/moved": "/data.bin",
        "/away": "https://10.255.255.1/",
        "/plain": "http://localhost/data.bin",
    }
    breaks = 0

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path in self.moved:
            return self.answer(302, b"", Location=self.moved[parts.path])
        if parts.path == "/data.bin":
            return self.whole_or_rest()
        if not parts.path.startswith("/bucket"):
            return self.answer(404, b"")
        if not (self.headers["Authorization"] or "").startswith("AWS4-HMAC-SHA256 Credential=id/"):
            return self.answer(403, b"")
        key = parts.path[len("/bucket/") :]
        if key:
            return self.answer(200, self.objects[key])
        prefix = parse_qs(parts.query).get("prefix", [""])[0]
        keys = "".join(f"<Contents><Key>{one}</Key></Contents>" for one in self.objects if one.startswith(prefix))
        return self.answer(200, f"<ListBucketResult xmlns='x'>{keys}</ListBucketResult>".encode())

    def whole_or_rest(self) -> None:
        begin = int((self.headers["Range"] or "bytes=0-")[6:-1])
        if Handler.breaks and not begin:
            Handler.breaks -= 1
            self.send_response(200)
            self.send_header("Content-Length", str(len(DATA)))
            self.end_headers()
            self.wfile.write(DATA[:4000])
            self.close_connection = True
            return
        part = {"Content-Range": f"bytes {begin}-{len(DATA) - 1}/{len(DATA)}"} if begin else {}
        self.answer(206 if begin else 200, DATA[begin:], **part)

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def port(certificates: Path) -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield int(server.server_address[1])
    server.shutdown()
    server.server_close()


@pytest.fixture
def fetched(tmp_path: Path, certificates: Path, port: int) -> Fetch:
    def fetch(source: str, *, networks: tuple[str, ...] = LOOPBACK, max_bytes: int = 0, ca: bool = True) -> str:
        """What it says when it fails; nothing when all went well."""
        allowed = TaskElsewhere(networks, max_bytes, str(certificates) if ca else "")
        inputs = (TaskInput(source.replace("PORT", str(port)), str(tmp_path / "ml/data/in")),)
        task = make_task(server_url="http://127.0.0.1:9", inputs=inputs, elsewhere=allowed, in_patience_seconds=0.5)
        (tmp_path / TASK).write_text(to_json(task))
        (tmp_path / "token").write_text("none")
        command = [sys.executable, "-I", "-S", stager.__file__, "in", str(tmp_path)]
        secrets = json.dumps({"KEYS": "id:hush"}).encode()
        done = subprocess.run(command, input=secrets, capture_output=True, check=False)
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        assert b"hush" not in done.stdout + done.stderr
        return str(json.loads(done.stdout)["message"]) if done.stdout else ""

    return fetch


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class TestWeb:
    def test_a_file_with_its_checksum(self, fetched: Fetch, tmp_path: Path) -> None:
        for path in ("data.bin", "moved"):
            assert fetched(f"https://localhost:PORT/{path}#sha256={SHA256}") == ""
            assert files(tmp_path / "ml/data") == {"in": DATA}
            (tmp_path / "ml/data/in").unlink()

    def test_a_broken_transfer_goes_on(self, fetched: Fetch, tmp_path: Path) -> None:
        Handler.breaks = 1
        assert fetched(f"https://localhost:PORT/data.bin#sha256={SHA256}") == ""
        assert files(tmp_path / "ml/data") == {"in": DATA}

    @pytest.mark.parametrize(
        ("source", "options", "told"),
        [
            (f"data.bin#sha256={'0' * 64}", {}, "expected the SHA-256 000"),
            (f"none#sha256={SHA256}", {}, "404"),
            (f"data.bin#sha256={SHA256}", {"networks": ()}, "not a public address"),
            (f"data.bin#sha256={SHA256}", {"ca": False}, "certificate is not valid"),
            (f"data.bin#sha256={SHA256}", {"max_bytes": 100}, "expected at most 100 bytes"),
            (f"away#sha256={SHA256}", {}, "not a public address"),
            (f"plain#sha256={SHA256}", {}, "expected an https:// address"),
        ],
    )
    def test_what_is_refused(
        self, fetched: Fetch, tmp_path: Path, source: str, options: dict[str, Any], told: str
    ) -> None:
        assert told in fetched(f"https://localhost:PORT/{source}", **options)
        assert files(tmp_path / "ml/data") == {}


class TestS3:
    def test_a_folder_and_an_object(self, fetched: Fetch, tmp_path: Path) -> None:
        where = "#secret=KEYS&endpoint=https://localhost:PORT"
        assert fetched(f"s3://bucket/data{where}") == ""
        assert files(tmp_path / "ml/data/in") == {"a.txt": b"a", "deep/b.txt": b"b"}
        assert fetched(f"s3://bucket/database{where}") == ""
        assert files(tmp_path / "ml/data/in")["database"] == b"not this"
        assert "no object and no folder" in fetched(f"s3://bucket/none{where}")

    def test_a_secret_that_is_no_key_is_told(self, fetched: Fetch) -> None:
        assert "expected ACCESS_KEY_ID:SECRET_ACCESS_KEY" in fetched("s3://bucket/data#secret=OTHER")

    @pytest.mark.parametrize("key", ["", "data/a b+c.txt", "深/é"])
    def test_signatures_are_those_of_amazon(self, key: str) -> None:
        bucket = s3._Bucket("https://s3.example.com:9000", "eu-west-1", "bucket", "id", "hush")
        url = bucket.url(key) if key else bucket.url(**{"list-type": "2", "prefix": "a b/", "continuation-token": "x="})
        request = AWSRequest("GET", url, headers={"x-amz-content-sha256": hashlib.sha256(b"").hexdigest()})
        S3SigV4Auth(Credentials("id", "hush"), "s3", "eu-west-1").add_auth(request)
        at = datetime.strptime(request.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
        ours = s3.signed(bucket, url, headers={"Range": "bytes=5-"}, at=at.timestamp())
        assert request.headers["Authorization"] == ours["Authorization"]
