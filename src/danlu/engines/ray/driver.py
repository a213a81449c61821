"""The process that speaks to Ray for a server: `python -m danlu.engines.ray.driver DESCRIPTOR`.

Reads requests from the descriptor, answers each by its number, and ends with the server. All it knows is in the
cluster: a new one goes on where this one stopped.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

import ray

from danlu.engines.ray.agent import private_paths
from danlu.engines.ray.agents import Agents, all_addresses
from danlu.engines.ray.messages import Answer
from danlu.engines.ray.open_door import is_open
from danlu.engines.ray.reservations import Reservations
from danlu.errors import DanluError, InvalidInput
from danlu.node.supervise import linux

THREADS, SHELL_THREADS = 32, 256
SHELL_REQUEST = "call_shell"
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

    def answer(number: int, request: tuple[str, Sequence[Any]]) -> None:
        found = do(*request)
        with sending:
            line.send((number, found))

    with ThreadPoolExecutor(THREADS) as pool, ThreadPoolExecutor(SHELL_THREADS) as shell_pool:
        try:
            while True:
                number, request = line.recv()
                (shell_pool if request[0] == SHELL_REQUEST else pool).submit(answer, number, request)
        except (EOFError, OSError):
            os._exit(0)


def _open(config: dict[str, Any]) -> Do:
    """Connect. What makes that impossible is the answer to every request."""
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
        self._reservations = Reservations(config["prefix"], self._agents.resource_of)
        self._requests: dict[str, Callable[..., Any]] = {
            "nodes": self._nodes,
            "addresses": all_addresses,
            "private_paths": lambda: [str(path) for path in private_paths()],
            "call": self._agents.call,
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
        except Exception as error:  # whatever Ray says means that nobody knows
            return "unknown", None, f"Ray: {type(error).__name__}: {str(error).strip().splitlines()[-1]}"

    def _nodes(self) -> list[dict[str, Any]]:
        return self._agents.nodes(self._reservations.held())


if __name__ == "__main__":
    main(int(sys.argv[1]))
