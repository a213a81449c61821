"""Commands beside a task's own on another node: the agent holds the channel, the server asks for what it said.

Nothing here waits for ever: a read without output returns after a moment, and a channel that nobody has asked for a
minute is closed, as when the server was killed.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from danlu.engines.base import Channel, TerminalSize
from danlu.errors import EngineUnavailable, WrongState

READ_SECONDS = 2.0
FORGOTTEN_SECONDS = 60.0
PIECE_BYTES, MAX_PIECES = 64 << 10, 16
HUNG_UP = 129


class Shells:
    """The channels that are open on a node."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}

    def add(self, channel: Channel) -> str:
        name = uuid.uuid4().hex
        with self._lock:
            self._open[name] = _Open(channel)
        return name

    def do(self, name: str, action: str, *arguments: Any) -> Any:
        with self._lock:
            found = self._open.get(name)
        if found is None:
            raise WrongState("the shell has been closed")
        found.asked_at = time.monotonic()
        if action == "close":
            with self._lock:
                self._open.pop(name, None)
        return found.do(action, *arguments)

    def close_forgotten(self) -> None:
        limit = time.monotonic() - FORGOTTEN_SECONDS
        with self._lock:
            forgotten = [name for name, found in self._open.items() if found.asked_at < limit]
        for name in forgotten:
            self.do(name, "close")


class _Open:
    """A channel and the thread that reads it."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.asked_at = time.monotonic()
        self._pieces: queue.Queue[bytes] = queue.Queue(MAX_PIECES)
        self._is_closed = False
        threading.Thread(target=self._pump, name="shell", daemon=True).start()

    def do(self, action: str, *arguments: Any) -> Any:
        actions: dict[str, Callable[..., Any]] = {
            "read": self._read,
            "write": self._channel.write,
            "end_input": self._channel.end_input,
            "resize": lambda rows, columns: self._channel.resize(TerminalSize(rows, columns)),
            "exit_code": self._channel.exit_code,
            "close": self._close,
        }
        return actions[action](*arguments)

    def _read(self) -> bytes | None:
        """The next piece; None when there is none yet, empty at the end."""
        try:
            return self._pieces.get(timeout=READ_SECONDS)
        except queue.Empty:
            return None

    def _pump(self) -> None:
        piece = b"more"
        while piece and not self._is_closed:
            piece = self._channel.read(PIECE_BYTES)
            self._give(piece)

    def _give(self, piece: bytes) -> None:
        while not self._is_closed:
            with contextlib.suppress(queue.Full):
                self._pieces.put(piece, timeout=1.0)
                return

    def _close(self) -> None:
        self._is_closed = True
        self._channel.close()


class Ask(Protocol):
    """Have the agent of the channel's node do something with it."""

    def __call__(self, action: str, *arguments: Any) -> Any: ...


class RayChannel(Channel):
    """The server's side. A node that does not answer any more has hung up."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._rest = b""
        self._has_ended = False

    def read(self, limit: int) -> bytes:
        while not self._rest and not self._has_ended:
            try:
                piece = self._ask("read")
            except (EngineUnavailable, WrongState):
                piece = b""
            self._has_ended = piece == b""
            self._rest = piece or b""
        data, self._rest = self._rest[:limit], self._rest[limit:]
        return data

    def write(self, data: bytes) -> int:
        return int(self._say("write", data, otherwise=len(data)))

    def end_input(self) -> bool:
        return bool(self._say("end_input", otherwise=True))

    def resize(self, size: TerminalSize) -> None:
        self._say("resize", size.rows, size.columns, otherwise=None)

    def exit_code(self) -> int:
        return int(self._say("exit_code", otherwise=HUNG_UP))

    def close(self) -> None:
        self._has_ended = True
        self._say("close", otherwise=None)

    def _say(self, action: str, *arguments: Any, otherwise: Any) -> Any:
        try:
            return self._ask(action, *arguments)
        except (EngineUnavailable, WrongState):
            return otherwise


def command_of(command: Sequence[str], terminal: TerminalSize | None) -> tuple[list[str], tuple[int, int] | None]:
    """A command and its terminal as plain data."""
    return list(command), None if terminal is None else (terminal.rows, terminal.columns)
