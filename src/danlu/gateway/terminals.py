"""Shells that are open in running tasks, kept by this server. Output is read by offset, so that nothing is lost when a
connection breaks."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from danlu.engines.base import CanOpenChannels, Channel, TerminalSize
from danlu.errors import DanluError, NotFound, TooManyRequests, Unsupported
from danlu.gateway.tasks import Engines, Task

MAX_TERMINALS = 200
KEPT_BYTES = 1 << 20
"""Unread output that is kept; beyond it the command waits."""

PIECE_BYTES = 1 << 16
LEFT_ALONE_SECONDS = 120.0
"""A terminal that nobody has read for this long is closed."""

LOOK_SECONDS = 2.0
"""How often idle terminals are closed, and rights are checked again."""

RETRY_SECONDS = 10
MAX_WAITING = 4
"""Requests that may wait for the same terminal, to read and to write."""


@dataclass(frozen=True)
class Output:
    data: bytes
    next: int
    exit_code: int | None


class Guest(NamedTuple):
    """Who opened a shell."""

    user_id: int
    via: str = ""
    """The key or session that they used."""


@dataclass
class Terminal:
    """An open shell. A separate thread reads its output, so that no thread for requests blocks on it."""

    job_id: str
    guest: Guest
    channel: Channel
    begins_at: int = 0
    """Offset of the first byte that is kept."""

    kept: bytearray = field(default_factory=bytearray)
    exit_code: int | None = None
    read_at: float = field(default_factory=time.monotonic)
    changed: threading.Condition = field(default_factory=threading.Condition)
    on_output: set[Callable[[], None]] = field(default_factory=set)
    """Called by the thread when there is something to read; must return at once."""

    num_readers: int = 0
    num_writers: int = 0
    """Requests that wait to write."""

    def copy(self) -> None:
        while data := self.channel.read(PIECE_BYTES):
            with self.changed:
                self.changed.wait_for(lambda: len(self.kept) < KEPT_BYTES, timeout=LEFT_ALONE_SECONDS)
                self.kept += data
            self._tell()
        code = self.channel.exit_code()
        with self.changed:
            self.exit_code = code
        self._tell()
        self.channel.close()

    def read(self, after: int) -> Output:
        """Return output from an offset on, and discard what comes before it."""
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

    @contextmanager
    def reading(self, tell: Callable[[], None]) -> Iterator[None]:
        """Call `tell` when there is output. Raise TooManyRequests when too many requests wait for it already."""
        if self.num_readers >= MAX_WAITING:
            raise _too_many_wait("read")
        self.num_readers += 1
        self.on_output.add(tell)
        try:
            yield
        finally:
            self.on_output.discard(tell)
            self.num_readers -= 1

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Raise TooManyRequests when too many requests wait to write already."""
        if self.num_writers >= MAX_WAITING:
            raise _too_many_wait("write to")
        self.num_writers += 1
        try:
            yield
        finally:
            self.num_writers -= 1

    def _tell(self) -> None:
        for tell in tuple(self.on_output):
            tell()


class Terminals:
    def __init__(
        self,
        engines: Engines,
        *,
        max_per_person: int = 10,
        may_stay: Callable[[Guest, str], bool] = lambda _guest, _job_id: True,
        patience_seconds: float = LEFT_ALONE_SECONDS,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """`may_stay`: whether a user may still use a job. Called every `look_seconds`, in a thread."""
        self._engines = engines
        self._max_per_person, self._may_stay = max_per_person, may_stay
        self._patience_seconds, self._look_seconds = patience_seconds, look_seconds
        self._open: dict[str, Terminal] = {}
        self._opening: list[int] = []
        """Users whose shells are being opened."""

        self._lock = threading.Lock()
        self._is_looking = False

    def open(
        self, engine: str, task: Task, *, guest: Guest, command: Sequence[str], size: tuple[int, int] | None
    ) -> str:
        """Start a command in a task; return the name by which it is read and written."""
        found = self._engines.get(engine)
        if not isinstance(found, CanOpenChannels):
            raise Unsupported(f"engine {engine!r} cannot open a shell in a running task")
        handle = task.handle
        with self._opened_by(guest):
            channel = found.open_channel(handle, command, None if size is None else TerminalSize(*size))
            terminal = Terminal(handle.job_id, guest, channel)
            name = secrets.token_urlsafe(12)
            with self._lock:
                self._open[name] = terminal
                if not self._is_looking:
                    self._is_looking = True
                    threading.Thread(target=self._look_after, name="terminals", daemon=True).start()
        threading.Thread(target=terminal.copy, name=f"terminal of {handle.job_id}", daemon=True).start()
        return name

    def get(self, job_id: str, name: str, *, user_id: int) -> Terminal:
        """Only the user who opened a shell may use it."""
        found = self._open.get(name)
        if found is None or found.job_id != job_id or found.guest.user_id != user_id:
            raise NotFound(f"no open shell {name!r} in {job_id}; it may have been closed because it was idle")
        return found

    def close(self, name: str) -> None:
        with self._lock:
            found = self._open.pop(name, None)
        if found is not None:
            found.channel.close()

    @contextmanager
    def _opened_by(self, guest: Guest) -> Iterator[None]:
        """Count a shell that is being opened. Raise TooManyRequests when a limit is reached."""
        with self._lock:
            users = [terminal.guest.user_id for terminal in self._open.values()] + self._opening
            if users.count(guest.user_id) >= self._max_per_person:
                told = f"you have {self._max_per_person} shells open, which is the maximum; close one first"
                raise TooManyRequests(told, retry_after_seconds=RETRY_SECONDS)
            if len(users) >= MAX_TERMINALS:
                told = f"{MAX_TERMINALS} shells are open on this server, which is the maximum; try again later"
                raise TooManyRequests(told, retry_after_seconds=RETRY_SECONDS)
            self._opening.append(guest.user_id)
        try:
            yield
        finally:
            with self._lock:
                self._opening.remove(guest.user_id)

    def _look_after(self) -> None:
        """Close idle terminals, and those whose user has lost access, until none is open."""
        while True:
            time.sleep(min(self._look_seconds, self._patience_seconds / 8))
            for name, terminal in list(self._open.items()):
                is_left_alone = time.monotonic() - terminal.read_at > self._patience_seconds
                if is_left_alone or not self._is_welcome(terminal):
                    self.close(name)
            with self._lock:
                if not self._open:
                    self._is_looking = False
                    return

    def _is_welcome(self, terminal: Terminal) -> bool:
        try:
            return self._may_stay(terminal.guest, terminal.job_id)
        except DanluError:  # keep terminals while the database does not answer; each request is authorized by itself
            return True


def _too_many_wait(what: str) -> TooManyRequests:
    told = f"{MAX_WAITING} requests wait to {what} this shell already; try again in {RETRY_SECONDS} s"
    return TooManyRequests(told, retry_after_seconds=RETRY_SECONDS)
