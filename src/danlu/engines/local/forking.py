"""The engine's side of the process that starts attempts (`node/fork_server.py`)."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

from danlu.engines.local.scripts import NODE_SCRIPTS
from danlu.errors import EngineUnavailable
from danlu.node.compiled_cutting import compiled_file
from danlu.node.task import OK, Gang, gang_to_json

START_SECONDS = 30
END_SECONDS = 5.0


class ForkServer:
    """Starts the process with the first attempt, restarts it when it has died, and ends it together with this
    object."""

    def __init__(self, python: Path, *, start_seconds: int = START_SECONDS) -> None:
        """`start_seconds`: how long tasks may take to start; whoever starts them then ends itself."""
        self._start_seconds = start_seconds
        self._python = os.path.realpath(python)
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._end: Callable[[], object] = lambda: None

    def start(self, gang: Gang, start_lock: int) -> str:
        """Start the shims of a gang; return an error message, or "". Raise EngineUnavailable when they do not start in
        time: at the latest END_SECONDS after that, if the fork server itself hangs.

        The fork server gets the lock too, so that a restarted server waits until the tasks are started.
        """
        began = time.monotonic()
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                self._send([start_lock, theirs.fileno()])
            ours.settimeout(self._start_seconds + END_SECONDS)
            try:
                ours.sendall(gang_to_json(gang).encode())
                ours.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: ours.recv(1 << 16), b"")).decode(errors="replace").strip()
            except (TimeoutError, ConnectionError):
                answer = ""
        if not answer and time.monotonic() - began >= self._start_seconds:
            raise EngineUnavailable(f"tasks did not start within {self._start_seconds} s")
        if not answer:
            raise EngineUnavailable("the process that starts tasks ended before they had started")
        return "" if answer == OK else answer

    def _send(self, files: list[int]) -> None:
        with self._lock:
            if self._control is not None:
                with contextlib.suppress(OSError):  # it has died; start another one
                    socket.send_fds(self._control, [b"."], files)
                    return
            self._end()
            self._control = self._run()
            socket.send_fds(self._control, [b"."], files)

    def _run(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            script, compiled = str(NODE_SCRIPTS / "fork_server.py"), compiled_file()
            arguments = [str(theirs.fileno()), str(self._start_seconds), *([compiled] if compiled else [])]
            process = subprocess.Popen(
                [self._python, "-I", "-S", script, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd="/",
                env={"LANG": "C.UTF-8", "PATH": os.environ.get("PATH", "")},
                start_new_session=True,
            )
        self._end = weakref.finalize(self, _end, ours, process)
        return ours


def _end(control: socket.socket, process: subprocess.Popen[bytes]) -> None:
    control.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)
