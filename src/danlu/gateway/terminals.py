"""Shells that are open in running tasks, kept by this server: output is read by offset, so a broken connection costs
nothing."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from danlu.engines.base import CanOpenChannels, Channel, Engine, Handle, TerminalSize
from danlu.errors import NotFound, TooManyRequests, Unsupported

MAX_TERMINALS = 200
KEPT_BYTES = 1 << 20
"""Output that nobody has read yet; whoever writes more waits."""

PIECE_BYTES = 1 << 16
LEFT_ALONE_SECONDS = 120.0
"""A terminal that nobody reads for so long is closed: its user is gone."""


class Task(NamedTuple):
    """Where a shell is opened."""

    job_id: str
    attempt: int
    rank: int
    node: str


@dataclass(frozen=True)
class Output:
    data: bytes
    next: int
    exit_code: int | None


@dataclass
class Terminal:
    """An open shell. A thread of its own takes what it prints."""

    job_id: str
    user_id: int
    channel: Channel
    begins_at: int = 0
    """Offset of the first byte that is kept."""

    kept: bytearray = field(default_factory=bytearray)
    exit_code: int | None = None
    read_at: float = field(default_factory=time.monotonic)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def copy(self) -> None:
        while data := self.channel.read(PIECE_BYTES):
            with self.changed:
                self.changed.wait_for(lambda: len(self.kept) < KEPT_BYTES, timeout=LEFT_ALONE_SECONDS)
                self.kept += data
        code = self.channel.exit_code()
        with self.changed:
            self.exit_code = code
        self.channel.close()

    def read(self, after: int) -> Output:
        """What was printed from an offset on; what comes before it is let go."""
        with self.changed:
            self.read_at = time.monotonic()
            let_go = max(0, min(after - self.begins_at, len(self.kept)))
            del self.kept[:let_go]
            self.begins_at += let_go
            self.changed.notify_all()
            data = bytes(self.kept)
            return Output(data, self.begins_at + len(data), self.exit_code)

    def resize(self, rows: int, columns: int) -> None:
        self.channel.resize(TerminalSize(rows, columns))


class Terminals:
    def __init__(self, engines: Mapping[str, Engine], *, patience_seconds: float = LEFT_ALONE_SECONDS) -> None:
        self._engines = engines
        self._patience_seconds = patience_seconds
        self._open: dict[str, Terminal] = {}
        self._lock = threading.Lock()
        self._is_looking = False

    def open(
        self, engine: str, task: Task, *, user_id: int, command: Sequence[str], size: tuple[int, int] | None
    ) -> str:
        """Start a command in a task; return the name by which it is read and written."""
        found = self._engines.get(engine)
        if not isinstance(found, CanOpenChannels):
            raise Unsupported(f"engine {engine!r} cannot open a shell in a running task")
        if len(self._open) >= MAX_TERMINALS:
            raise TooManyRequests(f"{MAX_TERMINALS} shells are open; close one first")
        handle = Handle(job_id=task.job_id, attempt=task.attempt, rank=task.rank, node=task.node)
        channel = found.open_channel(handle, command, None if size is None else TerminalSize(*size))
        terminal = Terminal(handle.job_id, user_id, channel)
        name = secrets.token_urlsafe(12)
        with self._lock:
            self._open[name] = terminal
            if not self._is_looking:
                self._is_looking = True
                threading.Thread(target=self._look_after, name="terminals", daemon=True).start()
        threading.Thread(target=terminal.copy, name=f"terminal of {handle.job_id}", daemon=True).start()
        return name

    def get(self, job_id: str, name: str, *, user_id: int) -> Terminal:
        """Only who opened a shell may use it: it acts with what he typed."""
        found = self._open.get(name)
        if found is None or found.job_id != job_id or found.user_id != user_id:
            raise NotFound(f"no open shell {name!r} in {job_id}; it may have been left alone for too long")
        return found

    def close(self, name: str) -> None:
        with self._lock:
            found = self._open.pop(name, None)
        if found is not None:
            found.channel.close()

    def _look_after(self) -> None:
        """Close what was left alone, until nothing is open."""
        while True:
            time.sleep(self._patience_seconds / 8)
            for name, terminal in list(self._open.items()):
                if time.monotonic() - terminal.read_at > self._patience_seconds:
                    self.close(name)
            with self._lock:
                if not self._open:
                    self._is_looking = False
                    return
