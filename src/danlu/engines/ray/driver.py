"""The server's process for Ray: `python -m danlu.engines.ray.driver DESCRIPTOR`.

Reads requests from the descriptor, answers each by its number, and ends with the server. It has no state of its own: a
new driver continues where the last one stopped.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

import ray

from danlu.engines.ray.agents import Agents, all_addresses, last_line
from danlu.engines.ray.log_door import open_door
from danlu.engines.ray.log_pieces import LogPieces
from danlu.engines.ray.messages import Answer
from danlu.engines.ray.open_door import is_open
from danlu.engines.ray.private import private_paths, session_dir
from danlu.engines.ray.reservations import Reservations
from danlu.errors import DanluError, InvalidInput
from danlu.node.supervise import linux

SHELL_REQUEST, LOG_REQUEST, AGENTS_REQUEST = "call_shell", "copy_log", "call"
NUM_THREADS = {AGENTS_REQUEST: 24, LOG_REQUEST: 8, SHELL_REQUEST: 256}
"""Threads for requests to agents. Requests to the head have their own, because they may wait minutes while it is
offline."""

NUM_HEAD_THREADS = 8
NO_TOKEN = (
    "the Ray cluster at {address} lets in everybody who reaches it, and so runs anybody's code: "
    "start Ray with RAY_AUTH_MODE=token, or say --insecure-ray where the network is closed to all others"
)
Do = Callable[[str, Sequence[Any]], Answer]
log = logging.getLogger("danlu.ray")


def main(descriptor: int) -> None:
    linux.die_with_parent(signal.SIGKILL)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    line = Connection(descriptor)
    do = _open(line.recv())
    sending = threading.Lock()

    def answer(number: int, request: tuple[str, Sequence[Any]], *, give_up_at: float) -> None:
        if time.monotonic() > give_up_at:  # the caller has given up
            return
        found = do(*request)
        with sending:
            line.send((number, found))

    head_pool = ThreadPoolExecutor(NUM_HEAD_THREADS)
    pools = {request: ThreadPoolExecutor(number) for request, number in NUM_THREADS.items()}
    try:
        while True:
            number, request, seconds = line.recv()
            if request is None:  # a ping from a caller that timed out: is the driver still alive?
                with sending:
                    line.send((number, None))
                continue
            pools.get(request[0], head_pool).submit(answer, number, request, give_up_at=time.monotonic() + seconds)
    except (EOFError, OSError):
        os._exit(0)


def _open(config: dict[str, Any]) -> Do:
    """Connect. If that fails, every request is answered with the reason."""
    try:
        if not config["is_insecure"] and is_open(config["address"]):
            raise InvalidInput(NO_TOKEN.format(address=config["address"]))
        return Driver(config).do
    except DanluError as error:
        refused = "refused", type(error).__name__, error.message
        return lambda *_: refused


class Driver:
    def __init__(self, config: dict[str, Any]) -> None:
        ray.init(
            address=config["address"],
            namespace=config["namespace"],
            log_to_driver=False,
            configure_logging=False,
        )
        self._agents = Agents(config)
        logs = LogPieces(self._agents.call, open_door(ray.util.get_node_ip_address()))
        self._reservations = Reservations(config["prefix"], self._agents.resource_of)
        self._requests: dict[str, Callable[..., Any]] = {
            "nodes": self._nodes,
            "addresses": all_addresses,
            "private_paths": lambda: [str(path) for path in private_paths(session_dir())],
            AGENTS_REQUEST: self._agents.call,
            LOG_REQUEST: lambda call, seconds, target: logs.copy(call, target, seconds=seconds),
            SHELL_REQUEST: self._agents.call_shell,
            "reserve": lambda name, bundles, seconds: self._reservations.take(name, bundles, seconds=seconds),
            "release": self._reservations.release,
            "reserved": self._reservations.names,
        }
        threading.Thread(target=self._agents.keep, name="agents", daemon=True).start()

    def do(self, request: str, arguments: Sequence[Any]) -> Answer:
        try:
            return "done", self._requests[request](*arguments), ""
        except DanluError as error:
            return "refused", type(error).__name__, error.message
        except Exception as error:  # any error of Ray means that the outcome is unknown
            return "unknown", None, f"Ray: {type(error).__name__}: {last_line(error)}"

    def _nodes(self) -> list[dict[str, Any]]:
        return self._agents.nodes(self._reservations.held())


if __name__ == "__main__":
    main(int(sys.argv[1]))
