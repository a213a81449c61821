"""Parameter servers and workers with nothing but sockets: who listens where, and who this is, is in TF_CONFIG.

A server holds one number of the model and speaks lines of JSON. Workers push gradients to every server, wait until all
workers have, and pull the result, which each of them checks. Servers serve until they are told to end.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import socketserver
import sys
import threading
import time
from typing import Any

STEPS = 10
PATIENCE_SECONDS = 60.0


class Parameter:
    """One number that all workers move."""

    def __init__(self, num_workers: int) -> None:
        self.value, self.num_pushes = 0.0, 0
        self._expected = num_workers * STEPS
        self._changed = threading.Condition()

    def push(self, gradient: float) -> None:
        with self._changed:
            self.value += gradient
            self.num_pushes += 1
            self._changed.notify_all()

    def pull_when_complete(self) -> float:
        with self._changed:
            self._changed.wait_for(lambda: self.num_pushes == self._expected)
            return self.value


class Handler(socketserver.StreamRequestHandler):
    """A worker at a server."""

    def handle(self) -> None:
        parameter: Parameter = self.server.parameter  # type: ignore[attr-defined]
        for line in self.rfile:
            asked = json.loads(line)
            if "push" in asked:
                parameter.push(asked["push"])
                answer: Any = parameter.num_pushes
            else:
                answer = parameter.pull_when_complete()
            self.wfile.write(json.dumps(answer).encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class Remote:
    """A parameter server as a worker sees it. Servers may come up later than workers."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self._lines = socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS).makefile("rw")
                return
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def ask(self, **question: Any) -> float:
        self._lines.write(json.dumps(question) + "\n")
        self._lines.flush()
        return float(json.loads(self._lines.readline()))


def serve(cluster: dict[str, list[str]], index: int) -> int:
    host, _, port = cluster["ps"][index].rpartition(":")
    parameter = Parameter(len(cluster["worker"]))
    with Server((host, int(port)), Handler) as server:
        server.parameter = parameter  # type: ignore[attr-defined]
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
        print(f"ps {index} of {len(cluster['ps'])} listens on {host}:{port}")
        server.serve_forever(poll_interval=0.05)
    print(f"ps {index} of {len(cluster['ps'])} was told to end after {parameter.num_pushes} pushes")
    return 0


def work(cluster: dict[str, list[str]], index: int) -> int:
    servers = [Remote(address) for address in cluster["ps"]]
    for _ in range(STEPS):
        for server in servers:
            server.ask(push=float(index + 1))
    pulled = [server.ask(pull=True) for server in servers]
    num_workers = len(cluster["worker"])
    expected = float(STEPS * sum(range(1, num_workers + 1)))
    print(f"worker {index} of {num_workers} talked to {', '.join(cluster['ps'])} and pulled {pulled}")
    return 0 if pulled == [expected] * len(servers) else 1


def main() -> int:
    config = json.loads(os.environ["TF_CONFIG"])
    role, index = config["task"]["type"], config["task"]["index"]
    return serve(config["cluster"], index) if role == "ps" else work(config["cluster"], index)


if __name__ == "__main__":
    sys.exit(main())
