"""The server's line to Ray: a process of its own, which is started again when it ends.

Ray ends a process that has lost its cluster for too long, keeps threads and sockets of its own, and has a token that
nobody else needs. None of that is for the server's own process.
"""

from __future__ import annotations

import itertools
import os
import socket
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


class Link:
    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[Answer]] = {}
        self._line: Connection | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = float("-inf")
        self._is_closed = False

    def ask(self, request: str, *arguments: Any, seconds: float) -> Any:
        """Have the driver do something. Raise EngineUnreachable when there is no answer within some seconds."""
        number, future = next(self._numbers), Future[Answer]()
        with self._lock:
            line = self._connect()
            self._waiting[number] = future
            try:
                line.send((number, (request, arguments)))
            except OSError as error:
                raise EngineUnavailable(f"the process that speaks to Ray has ended: {error}") from error
        try:
            return value_of(future.result(seconds))
        except NotInTime as error:
            raise EngineUnreachable(f"the Ray cluster did not answer within {seconds:.0f} s ({request})") from error
        finally:
            self._waiting.pop(number, None)

    def close(self) -> None:
        """End the driver. The cluster keeps what runs there."""
        with self._lock:
            self._is_closed = True
            if self._line is not None:
                self._line.close()
            if self._process is not None:
                self._process.kill()  # it holds nothing, and Ray would print a trace at SIGTERM
                self._process.wait()

    def _connect(self) -> Connection:
        if self._line is not None and self._process is not None and self._process.poll() is None:
            return self._line
        if self._is_closed or time.monotonic() < self._started_at + START_AGAIN_SECONDS:
            raise EngineUnavailable("the process that speaks to Ray has ended; it is started again in a moment")
        self._started_at = time.monotonic()
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "danlu.engines.ray.driver", str(theirs.fileno())]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        self._line = Connection(os.dup(ours.fileno()))
        ours.close()
        self._line.send(self._config)
        threading.Thread(target=self._hear, args=(self._line, self._process), name="ray-link", daemon=True).start()
        return self._line

    def _hear(self, line: Connection, process: subprocess.Popen[bytes]) -> None:
        try:
            while True:
                number, answer = line.recv()
                waiting = self._waiting.get(number)
                if waiting is not None:
                    waiting.set_result(answer)
        except (EOFError, OSError):
            process.wait()
        with self._lock:
            if self._line is not line and not self._is_closed:
                return
            left, self._waiting = self._waiting, {}
        for waiting in left.values():
            waiting.set_result(("unknown", None, "the process that speaks to Ray has ended"))
