"""The proxy to endpoints, compared with direct access and with nginx as the proxy. The last line printed is JSON.

An nginx with a large file runs on this machine and in a job. Measures: bytes per second of downloads through Danlu,
divided by those through an nginx with the settings of the guide; the time that Danlu adds to the p95 of a small request
on a kept connection; the share of a core that the server uses for 200 open, idle WebSockets, minus what it uses without
them. Run nothing else meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from websockets.sync.client import connect

from danlu.client.jobs.job import Job
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

ECHO = Path(__file__).parent / "proxy" / "echo.py"
ORIGIN = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{}}
http {{
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e; keepalive_requests 1000000;
  server {{ listen 127.0.0.1:{port}; {inside} }}
}}
"""
FILES = "root {folder}/files; sendfile on;"
PROXY = (
    "location / {{ proxy_pass http://127.0.0.1:{to}; proxy_http_version 1.1; proxy_set_header Connection ''; "
    "proxy_buffering off; proxy_request_buffering off; }}"
)


class Way(NamedTuple):
    """The address and headers of a client."""

    name: str
    port: int
    host: str
    cookie: str = ""


def main() -> None:
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="danlu-bench-"))
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    server = RunningServer(folder / "data").start()
    try:
        figures = measure(server, folder, is_quick=options.quick)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for one in figures:
        print(f"{one['name']:<45} {one['value']:>9.3f}   gate {one['gate']}   goal {one['goal']}")
    print(json.dumps({"bench": "proxy", "figures": figures}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller, to see that it works")
    return parser.parse_args()


def measure(server: RunningServer, folder: Path, *, is_quick: bool) -> list[dict[str, Any]]:
    size, rounds, requests = (50 << 20, 2, 200) if is_quick else (1 << 30, 5, 3000)
    with ExitStack() as stack, server.client() as client:
        origin, proxied = _free_port(), _free_port()
        stack.enter_context(nginx(folder / "origin", origin, inside=FILES, size=size))
        stack.enter_context(nginx(folder / "proxy", proxied, inside=PROXY.format(to=origin)))
        job = client.jobs.submit({"name": "origin", "command": _in_job(size), "endpoints": [8080, 8081]})
        for line in job.logs(follow=True):
            if line.text == "listens":
                break
        danlu = _entered(job, 8080)
        direct, beside = Way("direct", origin, "127.0.0.1"), Way("nginx", proxied, "127.0.0.1")
        wait_until(lambda: _status(danlu) == 200)
        speeds = {way.name: _speed(way, size, rounds=rounds) for way in (direct, beside, danlu)}
        added = _p95(danlu, requests) - _p95(direct, requests)
        share = _idle_share(server, _entered(job, 8081), seconds=5.0 if is_quick else 30.0)
        job.stop()
    print("MiB/s: " + ", ".join(f"{name} {value / (1 << 20):.0f}" for name, value in speeds.items()))
    return [
        {"name": "large bodies, Danlu / nginx", "value": speeds["danlu"] / speeds["nginx"], "gate": 0.35, "goal": 0.6},
        {"name": "added p95 of a small request, ms", "value": added * 1000, "gate": 5.0, "goal": 5.0},
        {"name": "200 silent WebSockets, % of a core", "value": share * 100, "gate": 2.0, "goal": 2.0},
    ]


@contextmanager
def nginx(folder: Path, port: int, *, inside: str, size: int = 0) -> Iterator[None]:
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "small").write_text("small")
    with (folder / "files" / "large").open("wb") as file:
        file.truncate(size)
    user = "user root;" if os.geteuid() == 0 else ""
    told = inside.replace("{folder}", str(folder)).replace("{{", "{").replace("}}", "}")
    (folder / "conf").write_text(ORIGIN.format(folder=folder, port=port, user=user, inside=told))
    running = subprocess.Popen(["nginx", "-c", str(folder / "conf"), "-p", str(folder)])
    try:
        wait_until(lambda: _is_open(port))
        yield
    finally:
        running.terminate()
        running.wait()


def _in_job(size: int) -> str:
    """Return a command that runs the same origin and the WebSocket server in a job."""
    conf = ORIGIN.format(folder="/tmp/o", port=8080, user="", inside=FILES.replace("{folder}", "/tmp/o"))
    return (
        f"mkdir -p /tmp/o/files; echo small > /tmp/o/files/small; truncate -s {size} /tmp/o/files/large\n"
        f"cat > /tmp/o/conf <<'END'\n{conf}\nEND\ncat > /tmp/echo.py <<'END'\n{ECHO.read_text()}\nEND\n"
        "nginx -c /tmp/o/conf -p /tmp/o &\nexec python3 /tmp/echo.py 8081"
    )


def _entered(job: Job, port: int) -> Way:
    url = httpx.URL(job.endpoints.link(port).url)
    host = url.netloc.decode()
    path = f"http://127.0.0.1:{url.port}{url.raw_path.decode()}"
    answer = httpx.get(path, headers={"Host": host}, trust_env=False)
    return Way("danlu", url.port or 80, host, answer.headers["set-cookie"].partition(";")[0])


def _request(way: Way, path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {way.host}\r\nCookie: {way.cookie}\r\n\r\n".encode()


def _status(way: Way) -> int:
    with socket.create_connection(("127.0.0.1", way.port)) as sock:
        sock.sendall(_request(way, "/small"))
        return int(sock.recv(4096).split()[1])


def _speed(way: Way, size: int, *, rounds: int) -> float:
    """Bytes per second, the median of several downloads."""
    return statistics.median(_download(way, size) for _ in range(rounds))


def _download(way: Way, size: int) -> float:
    buffer = bytearray(1 << 20)
    with socket.create_connection(("127.0.0.1", way.port)) as sock:
        began = time.perf_counter()
        sock.sendall(_request(way, "/large"))
        left = size
        while left > 0:
            received = sock.recv_into(buffer)
            assert received, f"{way.name} ended early: {left} bytes are missing"
            left -= received
        return size / (time.perf_counter() - began)


def _p95(way: Way, number: int) -> float:
    seconds = []
    with socket.create_connection(("127.0.0.1", way.port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(number):
            began = time.perf_counter()
            sock.sendall(_request(way, "/small"))
            answer = b""
            while not answer.endswith(b"small\n") and not answer.endswith(b"small"):
                answer += sock.recv(65536)
            seconds.append(time.perf_counter() - began)
    return statistics.quantiles(seconds, n=20)[-1]


def _idle_share(server: RunningServer, way: Way, *, seconds: float, number: int = 200) -> float:
    """Share of a core used by open, idle WebSockets."""
    without = _work(server, seconds)
    with ExitStack() as stack:
        for _ in range(number):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", way.port)))
            url, headers = f"ws://{way.host}/", {"Cookie": way.cookie}
            opened = connect(url, sock=sock, additional_headers=headers, proxy=None, ping_interval=None, legacy=True)
            stack.enter_context(opened)
        return _work(server, seconds) - without


def _work(server: RunningServer, seconds: float) -> float:
    before = server.cpu_seconds()
    time.sleep(seconds)
    return (server.cpu_seconds() - before) / seconds


def _is_open(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    main()
