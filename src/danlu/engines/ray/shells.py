"""Additional commands in tasks on other nodes: the agent holds the channel, and the server polls it for output.

Nothing blocks forever: a read without output returns after a moment, and a channel that was not polled for a minute is
closed, for instance because the server was killed.
"""

from __future__ import annotations

import contextlib
import itertools
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
MAX_OPEN, MAX_OPEN_OF_JOB = 256, 64
"""Channels per node and per job: each has threads here and is polled."""

HUNG_UP = 129
PATIENCE_SECONDS = 15.0
NOT_READ_SECONDS = 0.05
"""Pause before input is offered again to a command that did not read it."""


class Shells:
    """The open channels of a node."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}

    def add(self, job_id: str, channel: Channel, *, apart: bool) -> str:
        """Register a channel of a job. When there are too many, close it and raise EngineUnavailable."""
        name = uuid.uuid4().hex
        with self._lock:
            of_job = sum(found.job_id == job_id for found in self._open.values())
            has_room = len(self._open) < MAX_OPEN and of_job < MAX_OPEN_OF_JOB
            if has_room:
                self._open[name] = _Open(job_id, channel, apart=apart)
        if not has_room:
            channel.close()
            raise EngineUnavailable(
                f"expected at most {MAX_OPEN_OF_JOB} shells and connections to {job_id} on a node, {MAX_OPEN} to all "
                "jobs; close some"
            )
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

    def keep(self) -> None:
        """Loop forever and close abandoned channels, as those of a killed server."""
        while True:
            time.sleep(FORGOTTEN_SECONDS / 4)
            self.close_forgotten()

    def close_forgotten(self) -> None:
        limit = time.monotonic() - FORGOTTEN_SECONDS
        with self._lock:
            forgotten = [name for name, found in self._open.items() if found.asked_at < limit]
        for name in forgotten:
            with contextlib.suppress(WrongState):  # closed by another thread just now
                self.do(name, "close")


class _Open:
    """A channel and the threads that read it: one for stdout, one for stderr when it is separate."""

    def __init__(self, job_id: str, channel: Channel, *, apart: bool) -> None:
        self.job_id, self._channel = job_id, channel
        self.asked_at = time.monotonic()
        self._output, self._errors, self._input = _Pieces(), _Pieces(), _Input(channel)
        self._is_closed = False
        self._start(channel.read, self._output)
        if apart:
            self._start(channel.read_errors, self._errors)

    def do(self, action: str, *arguments: Any) -> Any:
        actions: dict[str, Callable[..., Any]] = {
            "read": self._output.give,
            "read_errors": self._errors.give,
            "write": self._input.take,
            "end_input": self._channel.end_input,
            "resize": lambda rows, columns: self._channel.resize(TerminalSize(rows, columns)),
            "exit_code": self._channel.exit_code,
            "close": self._close,
        }
        return actions[action](*arguments)

    def _start(self, read: Callable[[int], bytes], pieces: _Pieces) -> None:
        threading.Thread(target=self._pump, args=(read, pieces), name="shell", daemon=True).start()

    def _pump(self, read: Callable[[int], bytes], pieces: _Pieces) -> None:
        piece = b"more"
        while piece and not self._is_closed:
            piece = read(PIECE_BYTES)
            while not self._is_closed and not pieces.add(piece):
                pass

    def _close(self) -> None:
        self._is_closed = True
        self._channel.close()


class _Pieces:
    """Output of a command. Pieces are numbered: after a lost answer the same piece is requested again."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[bytes] = queue.Queue(MAX_PIECES)
        self._lock = threading.Lock()
        self._given = (0, b"")

    def add(self, piece: bytes) -> bool:
        """False when the buffer stayed full for a second."""
        try:
            self._waiting.put(piece, timeout=1.0)
        except queue.Full:
            return False
        return True

    def give(self, number: int) -> bytes | None:
        """None when there is no output yet, empty at the end."""
        with self._lock:
            if self._given[0] != number:
                try:
                    self._given = (number, self._waiting.get(timeout=READ_SECONDS))
                except queue.Empty:
                    return None
            return self._given[1]


class _Input:
    """Numbered input, so that a repeated request is not written twice."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._taken = (0, 0)

    def take(self, number: int, data: bytes) -> int:
        with self._lock:
            if self._taken[0] != number:
                self._taken = (number, self._channel.write(data))
            return self._taken[1]


class Ask(Protocol):
    """Calls the agent of the channel's node."""

    def __call__(self, action: str, *arguments: Any) -> Any: ...


class RayChannel(Channel):
    """Server side. A node that does not answer for some seconds counts as disconnected; a busy one does not.

    A thread sends input to the node, so `write` never blocks.
    """

    def __init__(self, ask: Ask, *, apart: bool, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._ask, self._patience_seconds = ask, patience_seconds
        self._numbers = itertools.count(1)
        self._rest = {"read": b"", "read_errors": b""}
        self._ended = {"read": False, "read_errors": not apart}
        self._typing = threading.Condition()
        self._typed = bytearray()
        self._size: TerminalSize | None = None
        self._ends_input = self._is_closed = self._has_typist = False

    def read(self, limit: int) -> bytes:
        return self._read("read", limit)

    def read_errors(self, limit: int) -> bytes:
        return self._read("read_errors", limit)

    def _read(self, which: str, limit: int) -> bytes:
        number = next(self._numbers)
        while not self._rest[which] and not self._ended[which]:
            piece = self._say(which, number, otherwise=b"")
            self._ended[which] = piece == b""
            self._rest[which] = piece or b""
        data, self._rest[which] = self._rest[which][:limit], self._rest[which][limit:]
        return data

    def write(self, data: bytes) -> int:
        with self._typing:
            if self._is_closed:
                return len(data)
            taken = data[: max(0, PIECE_BYTES - len(self._typed))]
            self._typed += taken
            self._wake()
            return len(taken)

    def end_input(self) -> bool:
        with self._typing:
            if self._typed and not self._is_closed:
                return False
            self._ends_input = True
            self._wake()
            return True

    def resize(self, size: TerminalSize) -> None:
        with self._typing:
            self._size = size
            self._wake()

    def exit_code(self) -> int:
        return int(self._say("exit_code", otherwise=HUNG_UP))

    def close(self) -> None:
        self._ended = dict.fromkeys(self._ended, True)
        with self._typing:
            self._is_closed = True
            self._typing.notify_all()
        self._say("close", otherwise=None)  # once is enough: abandoned channels are closed by the node

    def _wake(self) -> None:
        self._typing.notify_all()
        if not self._has_typist and not self._is_closed:
            self._has_typist = True
            threading.Thread(target=self._type, name="typing", daemon=True).start()

    def _type(self) -> None:
        """Send input to the node, in order, until the channel is closed."""
        while True:
            with self._typing:
                self._typing.wait_for(lambda: self._typed or self._size or self._ends_input or self._is_closed)
                if self._is_closed:
                    return
                size, self._size = self._size, None
                data, ends = bytes(self._typed), self._ends_input and not self._typed
            if size is not None:
                self._say("resize", size.rows, size.columns, otherwise=None)
            taken = int(self._say("write", next(self._numbers), data, otherwise=len(data))) if data else 0
            has_ended = ends and bool(self._say("end_input", otherwise=True))
            with self._typing:
                del self._typed[:taken]
                self._ends_input = self._ends_input and not has_ended
                if (data and not taken) or (ends and not has_ended):
                    self._typing.wait_for(lambda: self._is_closed, timeout=NOT_READ_SECONDS)

    def _say(self, action: str, *arguments: Any, otherwise: Any) -> Any:
        """Repeat a request until it is answered. Repeating is safe: reads and input are numbered."""
        give_up_at = time.monotonic() + self._patience_seconds
        while True:
            try:
                return self._ask(action, *arguments)
            except WrongState:
                return otherwise
            except EngineUnavailable:
                if self._is_closed or time.monotonic() > give_up_at:
                    return otherwise
            with self._typing:
                self._typing.wait_for(lambda: self._is_closed, timeout=NOT_READ_SECONDS)


def command_of(command: Sequence[str], terminal: TerminalSize | None) -> tuple[list[str], tuple[int, int] | None]:
    """Return a command and its terminal size as plain data."""
    return list(command), None if terminal is None else (terminal.rows, terminal.columns)
