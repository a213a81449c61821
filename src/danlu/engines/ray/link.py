"""The server's connection to Ray: a separate driver process, which is restarted when it ends.

Ray kills a process that has lost its cluster for too long, runs threads and sockets of its own, and holds a token. None
of that belongs in the server's process.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from multiprocessing.connection import Connection
from typing import Any

from danlu.engines.ray.messages import Answer, value_of
from danlu.errors import EngineUnavailable, EngineUnreachable

START_AGAIN_SECONDS = 3.0
SEND_SECONDS = 3.0
"""A driver that accepts no request for this long is considered dead."""

HUNG_SECONDS = 120.0
"""A driver that sends nothing for this long while a request times out is considered dead. Longer than it needs to
connect."""


class Link:
    def __init__(
        self, config: dict[str, Any], *, send_seconds: float = SEND_SECONDS, hung_seconds: float = HUNG_SECONDS
    ) -> None:
        self._config = config
        self._send_seconds, self._hung_seconds = send_seconds, hung_seconds
        self._heard_at = float("-inf")
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[Answer]] = {}
        self._line: Connection | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = float("-inf")
        self._is_closed = False

    def ask(self, request: str, *arguments: Any, seconds: float) -> Any:
        """Send a request to the driver. Raise EngineUnreachable when there is no answer in time."""
        number, future = next(self._numbers), Future[Answer]()
        self._waiting[number] = future
        try:
            self._send((number, (request, arguments), seconds))
            return value_of(future.result(seconds))
        except NotInTime as error:
            self._end_if_hung()
            raise EngineUnreachable(f"the Ray cluster did not answer within {seconds:.0f} s ({request})") from error
        finally:
            self._waiting.pop(number, None)

    def _send(self, message: tuple[Any, ...]) -> None:
        with self._lock:
            line = self._connect()
            try:
                line.send(message)
            except OSError as error:
                self._end()  # the connection may hold part of the message
                raise EngineUnavailable(f"the process that connects to Ray has ended: {error}") from error

    def _end_if_hung(self) -> None:
        """Kill the driver only if it does not even answer pings: otherwise it is waiting for the cluster."""
        if time.monotonic() > self._heard_at + self._hung_seconds:
            with self._lock:
                self._end()
        else:
            with contextlib.suppress(EngineUnavailable):
                self._send((0, None, 0.0))

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the driver. What runs in the cluster is not affected."""
        with self._lock:
            self._is_closed = True
            if self._line is not None:
                self._line.close()
            if self._process is not None:
                self._process.kill()  # it has no state, and Ray would print a traceback on SIGTERM
                self._process.wait()

    def _connect(self) -> Connection:
        if self._line is not None and self._process is not None and self._process.poll() is None:
            return self._line
        if self._is_closed or time.monotonic() < self._started_at + START_AGAIN_SECONDS:
            raise EngineUnavailable("the process that connects to Ray has ended; it is being restarted")
        self._started_at = self._heard_at = time.monotonic()
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "danlu.engines.ray.driver", str(theirs.fileno())]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        seconds = struct.pack("ll", int(self._send_seconds), int(self._send_seconds % 1 * 1e6))
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, seconds)
        self._line = Connection(os.dup(ours.fileno()))
        ours.close()
        self._line.send(self._config)
        threading.Thread(target=self._hear, args=(self._line, self._process), name="ray-link", daemon=True).start()
        return self._line

    def _hear(self, line: Connection, process: subprocess.Popen[bytes]) -> None:
        try:
            while True:
                number, answer = line.recv()
                self._heard_at = time.monotonic()
                waiting = self._waiting.get(number)
                if waiting is not None:
                    waiting.set_result(answer)
        except (EOFError, OSError):
            process.wait()
        with self._lock:
            if self._line is not line and not self._is_closed:
                return
            left = list(self._waiting.values())
        for waiting in left:
            if not waiting.done():
                waiting.set_result(("unknown", None, "the process that connects to Ray has ended"))
