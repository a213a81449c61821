"""The agent of danlu-rsh: runs commands in its task for the other tasks of the job. See rsh.py."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import time
from typing import Any, NoReturn, Optional

from danlu.node.mpi.rsh_wire import CHUNK, HANDSHAKE_SECONDS, Stranger, frame, frames, prove_to_client, receive_frame

KILL_AFTER_SECONDS = 3.0
LAST_OUTPUT_SECONDS = 0.3
"""How long to wait for more output after the command has ended, since processes it left behind could still write."""

MOST_WAITING = 1 << 20
PAUSE_SECONDS = 0.1


class Agent:
    """Accepts commands until it is terminated, and then waits for those that run."""

    def __init__(self, listener: socket.socket, token: bytes) -> None:
        self._listener = listener
        self._token = token
        self._sessions: set[int] = set()
        self._is_ending = False

    def run(self) -> None:
        woken = wake_up_pipe()
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._end)
        self._listener.setblocking(False)
        while self._sessions or not self._is_ending:
            sources: list[Any] = [woken] if self._is_ending else [woken, self._listener]
            ready = select.select(sources, [], [])[0]
            if woken in ready:
                os.read(woken, 256)
            if self._listener in ready:
                self._accept()
            self._bury()

    def _end(self, *_: object) -> None:
        self._is_ending = True

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            time.sleep(PAUSE_SECONDS)  # for example out of file descriptors
            return
        pid = os.fork()
        if pid == 0:
            self._listener.close()
            _become_session(connection, self._token)
        self._sessions.add(pid)
        connection.close()

    def _bury(self) -> None:
        for pid in list(self._sessions):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._sessions.discard(pid)


def wake_up_pipe() -> int:
    """Return a descriptor to which the numbers of handled signals are written."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return woken


def _become_session(connection: socket.socket, token: bytes) -> NoReturn:
    try:
        # the command gets SIGTERM itself; this process forwards the rest of its output
        signal.signal(signal.SIGTERM, lambda *_: None)
        connection.setblocking(True)
        connection.settimeout(HANDSHAKE_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        prove_to_client(connection, token)
        Session(connection).run()
    except (Stranger, OSError, ValueError, KeyError):
        pass  # the client detects the same on its side
    finally:
        os._exit(0)


class Session:
    """Runs one command for one client."""

    def __init__(self, connection: socket.socket) -> None:
        kind, body = receive_frame(connection)
        if kind != b"C":
            raise ValueError(kind)
        connection.settimeout(None)
        self._connection = connection
        self._received = b""
        self._waiting = b""
        """Input that the command has not read yet."""

        self._input_ended = False
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: adopt detached processes
        self._woken = wake_up_pipe()
        self._process = subprocess.Popen(
            [_shell(), "-c", json.loads(body)["command"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        self._outputs = {self._process.stdout.fileno(): b"O", self._process.stderr.fileno(): b"R"}

    def run(self) -> None:
        """Return when the client has received the exit code or has disconnected."""
        try:
            while self._process.poll() is None:
                if not self._step(None):
                    self._kill()
                    return
        except OSError:
            self._kill()
            return
        with contextlib.suppress(OSError):
            self._leave()

    def _leave(self) -> None:
        """Send the remaining output and the exit code, then read until the client disconnects.

        Closing while the client still sends would make the kernel drop data that the client has not read.
        """
        while self._outputs and self._step(LAST_OUTPUT_SECONDS, is_over=True):
            pass
        code = self._process.returncode
        self._connection.sendall(frame(b"X", bytes([128 - code if code < 0 else code])))
        self._connection.shutdown(socket.SHUT_WR)
        self._connection.settimeout(HANDSHAKE_SECONDS)
        while self._connection.recv(CHUNK):
            pass

    def _step(self, timeout: Optional[float], *, is_over: bool = False) -> bool:
        """Wait for events and process them; False when the client has disconnected or all output has ended."""
        sources: list[Any] = [*self._outputs, *([] if is_over else [self._woken])]
        if len(self._waiting) < MOST_WAITING and not is_over:
            sources.append(self._connection)
        assert self._process.stdin
        hungry = [self._process.stdin] if self._waiting and not self._process.stdin.closed else []
        ready, free, _ = select.select(sources, hungry, [], timeout)
        if self._woken in ready:
            os.read(self._woken, 256)
        for descriptor in [one for one in ready if one in self._outputs]:
            piece = os.read(descriptor, CHUNK)
            if piece:
                self._connection.sendall(frame(self._outputs[descriptor], piece))
            else:
                del self._outputs[descriptor]
        if free:
            self._feed()
        if self._connection in ready and not self._hear():
            return False
        return bool(ready or free)

    def _hear(self) -> bool:
        piece = self._connection.recv(CHUNK)
        if not piece:
            return False
        complete, self._received = frames(self._received + piece)
        for kind, body in complete:
            if kind == b"I":
                self._waiting += body
            elif kind == b"E":
                self._input_ended = True
            elif kind == b"S":
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, body[0])
        self._feed()
        return True

    def _feed(self) -> None:
        assert self._process.stdin
        if self._process.stdin.closed:
            self._waiting = b""
            return
        try:
            if self._waiting:
                self._waiting = self._waiting[os.write(self._process.stdin.fileno(), self._waiting) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._waiting, self._input_ended = b"", True
        if self._input_ended and not self._waiting:
            self._process.stdin.close()

    def _kill(self) -> None:
        """End the command and all of its processes: SIGTERM, then SIGKILL."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + KILL_AFTER_SECONDS
            told: set[int] = set()
            while True:
                alive = _descendants(os.getpid())
                if not alive:
                    return
                for pid in alive:
                    if pid not in told or number is signal.SIGKILL:
                        _signal(pid, number)
                told.update(alive)
                if time.monotonic() > deadline:
                    break
                time.sleep(0.02)


def _descendants(ancestor: int) -> list[int]:
    """Processes below one that have not ended. Reaps ended children of this process."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    found: list[int] = []
    ahead = [ancestor]
    while ahead:
        children = _children(ahead.pop())
        found += children
        ahead += children
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        pass  # it has just ended
    return found


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _shell() -> str:
    return "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
