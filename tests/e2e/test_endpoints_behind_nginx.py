"""Endpoints behind Debian's nginx, as docs/guide/endpoints.md sets it up."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.endpoints import Browser, digest_of, pieces, start_app

from danlu.testing.ports import free_port
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

GUIDE = Path(__file__).parents[2] / "docs/guide/endpoints.md"


def test_everything_passes(make_server: Callable[..., RunningServer], tmp_path: Path) -> None:
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed; scripts/system-packages.sh tests installs it")
    port, behind = free_port(), free_port()
    name = f"http://*.jobs.example.com:{port}"
    server = make_server("--endpoints-url", name, "--endpoints-port", str(behind))
    with server.client() as client, _nginx(tmp_path / "nginx", port, to=behind):
        job = start_app(client)
        link = job.endpoints.link(8080).url
        assert link.startswith(f"http://{job.id}-8080.jobs.example.com:{port}/_danlu/enter?grant=")
        with Browser(link, address=f"127.0.0.1:{port}").enter() as browser:
            assert browser.get("/a%2Fb?x=%20").json() == {"path": "/a%2Fb?x=%20"}
            assert browser.get("/cookies").headers.get_list("set-cookie") == ["one=1", "two=2; Path=/"]
            size = 20 << 20
            answer = browser.http.put("/sha256", content=pieces(size))
            assert answer.json() == {"sha256": digest_of(size), "num_bytes": size}
            with browser.websocket() as opened:
                opened.send("through nginx")
                assert opened.recv() == "through nginx"
            with browser.http.stream("GET", "/slow/2") as streamed:
                lines = streamed.iter_lines()
                with Browser(job.endpoints.link(8080).url, address=f"127.0.0.1:{port}").enter() as other:
                    for number in range(2):
                        other.get("/next")
                        assert next(lines) == str(number)
        with Browser(link, address=f"127.0.0.1:{port}") as stranger:
            assert stranger.get("/x").status_code == 401


@contextmanager
def _nginx(folder: Path, port: int, *, to: int) -> Iterator[None]:
    """nginx with the server block of the guide, without TLS."""
    folder.mkdir()
    block = GUIDE.read_text().partition("```nginx\n")[2].partition("```")[0]
    for guide, here in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        ("127.0.0.1:8401", f"127.0.0.1:{to}"),
    ):
        assert guide in block, guide
        block = block.replace(guide, here)
    block = "\n".join(line for line in block.splitlines() if "ssl_" not in line)
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; user root;\n"
        f"events {{}}\nhttp {{ access_log off; {paths}\n{block}\n}}\n"
    )
    running = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)])
    try:
        wait_until(lambda: _answers(port), (folder / "error.log").read_text)
        yield
    finally:
        running.terminate()
        running.wait()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)):
            return True
    except OSError:
        return False
