"""The contract of an engine, written for whoever writes the next one."""

from __future__ import annotations

import logging
import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from danlu.engines.settings import EngineSettings
from danlu.errors import DanluError
from danlu.launch import Plan
from danlu.spec.nodes import NodeInfo
from danlu.spec.states import TaskState

__all__ = [
    "CanConnect",
    "CanCopyLogs",
    "CanOpenChannels",
    "Channel",
    "CopiedLog",
    "Credentials",
    "Engine",
    "EngineSettings",
    "Handle",
    "LogMark",
    "LogPiece",
    "NodeInfo",
    "Observation",
    "TerminalSize",
    "UsagePiece",
]

log = logging.getLogger(__name__)


CONNECT_SECONDS = 15.0
"""How long a port of a task may take to answer."""


class Handle(BaseModel):
    """A started task. Plain JSON: it is stored, and works again after a server restart."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    job_id: str
    attempt: int
    rank: int
    node: str


class Observation(BaseModel):
    """What is true of a task now."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: TaskState
    exit_code: int | None = None
    """The command's own code; 128 + n when signal n ended it."""

    reason: str = ""
    """A code of the catalogue when the engine knows better than the exit code does."""

    message: str = ""
    started_at: float | None = None
    """Unix time at which the command began."""

    ended_at: float | None = None
    is_output_complete: bool = True
    """False when files did not reach the store, however the command ended: what the node has of them is kept."""

    log_bytes: int = 0
    """Length of the log so far; final once the state is."""


class LogMark(BaseModel):
    """At this time the log was this long."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    offset: int
    at: float


class LogPiece(NamedTuple):
    """Bytes of a log, and when it was how long."""

    data: bytes
    marks: Sequence[LogMark]


class CopiedLog(NamedTuple):
    """How many bytes of a log were copied into a file, and when it was how long."""

    size: int
    marks: Sequence[LogMark]


class UsagePiece(NamedTuple):
    """Bytes of the file of what a task uses (`danlu.journal.usage`)."""

    generation: int
    offset: int
    """Where they belong; 0 for the whole file, in the place of the one before it."""

    data: bytes


@dataclass(frozen=True)
class Credentials:
    """What a started attempt gets that must not be in its plan."""

    server_url: str
    token: str = field(repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    owner_id: int | None = None
    """Number of the person whose job it is. Engines that give jobs a user id of their own give one per person."""


class TerminalSize(NamedTuple):
    rows: int
    columns: int


class Channel(ABC):
    """A command that was started in a running task, beside the task's own. Ends when it is closed or the task ends."""

    @abstractmethod
    def read(self, limit: int) -> bytes:
        """Wait for output and return at most `limit` bytes of it; empty once there will be no more."""

    def read_errors(self, limit: int) -> bytes:  # noqa: ARG002
        """The same for its errors; empty at once where they go where output goes."""
        return b""

    @abstractmethod
    def write(self, data: bytes) -> int:
        """Give it input. Return at once, and how many bytes it took: 0 when it does not read, all when it has ended."""

    @abstractmethod
    def end_input(self) -> bool:
        """Say that there is no more input. Returns at once; False when that cannot be said now, because it does not
        read what came before."""

    @abstractmethod
    def resize(self, size: TerminalSize) -> None:
        """Tell its terminal about a new size. Quiet when it has none."""

    @abstractmethod
    def exit_code(self) -> int:
        """Wait for its end; 128 + n when signal n ended it."""

    @abstractmethod
    def close(self) -> None:
        """Hang up. Quiet when it has ended."""


@runtime_checkable
class CanOpenChannels(Protocol):
    """An engine that lets people into running tasks."""

    def open_channel(
        self, handle: Handle, command: Sequence[str], terminal: TerminalSize | None, *, apart: bool = False
    ) -> Channel:
        """Start a command in a task, with a terminal or with plain pipes.

        Errors go where output goes, unless they are wanted `apart` from it and there is no terminal.

        The task does not run             -> raise WrongState
        The command cannot be executed    -> a channel that says so and ends with 127
        """
        ...


@runtime_checkable
class CanConnect(Protocol):
    """An engine that reaches the ports of running tasks."""

    def connect(self, handle: Handle, port: int) -> socket.socket:
        """Return a connection to a TCP port inside of a task, and never to anything else of its node or beyond.

        Blocks, for CONNECT_SECONDS at most. What listens on the task's address is found, then what listens on
        loopback in its gang.
        The task does not run                          -> raise WrongState
        Its ports are not apart from the machine's     -> raise Unsupported
        Nothing listens there, or it does not answer   -> raise PortClosed
        """
        ...


@runtime_checkable
class CanCopyLogs(Protocol):
    """An engine that has other processes write logs of other machines into files of this one."""

    def copy_log(self, handle: Handle, offset: int, *, limit: int, after_mark: int, path: Path, at: int) -> CopiedLog:
        """`read_log_piece`, with the bytes written to a file, `at` bytes after its beginning. Its folder exists.

        The disk is full  -> raise StorageFull; a part may have been written
        No answer in time -> raise EngineUnreachable; the same bytes may still be written there later
        """
        ...


class Engine(ABC):
    """Starts, watches and ends tasks. Holds no state that a restart would lose."""

    name: ClassVar[str]
    is_remote: ClassVar[bool] = False
    """Whether tasks run on other machines, which must reach the server by its address."""

    @classmethod
    @abstractmethod
    def create(cls, settings: EngineSettings) -> Engine:
        """Make the engine of a server. May take a moment: it tries out what it can do."""

    @abstractmethod
    def nodes(self) -> Sequence[NodeInfo]:
        """Return the nodes that answer now. Within 5 s."""

    def addresses(self) -> Sequence[str]:
        """Return the addresses of all machines of its cluster, also of those that run no tasks. Within 5 s."""
        return ()

    def private_paths(self) -> Sequence[Path]:
        """Return what no job on the server's own machine may see of this engine, such as where its keys are."""
        return ()

    def keep_away_from(self, addresses: Sequence[str]) -> None:  # noqa: B027
        """From now on, tasks do not reach these machines, which are other engines'; those that run included."""

    @abstractmethod
    def start(self, plan: Plan, credentials: Credentials) -> Sequence[Handle]:
        """Start all tasks of an attempt, or none, and return at once: inputs are fetched by the tasks themselves.

        Idempotent: started a second time (a server died between start and its own note of it), the tasks that
        exist are returned as they are.
        Cannot be started                    -> undo what was done, raise DanluError with the reason
        """

    @abstractmethod
    def poll(self, handles: Sequence[Handle]) -> Sequence[Observation | None]:
        """Say what is true now, in the order of the handles. Within 5 s, many at once, cheap when nothing changed.

        Unknown handle (the node forgot it)  -> state=LOST, never an exception
        Started but no process yet           -> state=STARTING
        Node unreachable                     -> None for its handles; the caller keeps the last state
        """

    @abstractmethod
    def read_log(self, handle: Handle, offset: int, limit: int) -> bytes:
        """Return at most `limit` bytes of the log from `offset`; empty at its end, or when there is no log."""

    @abstractmethod
    def read_marks(self, handle: Handle, offset: int) -> Sequence[LogMark]:
        """Return the time marks of the log with an offset greater than `offset`, oldest first."""

    def read_log_piece(self, handle: Handle, offset: int, *, limit: int, after_mark: int) -> LogPiece:
        """`read_log` and `read_marks` in one: engines of other machines answer both at once."""
        return LogPiece(self.read_log(handle, offset, limit), self.read_marks(handle, after_mark))

    def read_usage(self, handle: Handle, generation: int, offset: int) -> UsagePiece | None:  # noqa: ARG002
        """Return what is new in the file of what a task uses, for who has `offset` bytes of this generation of it.

        The file is of another generation by now   -> all of it
        Nothing was measured, or the node is away  -> None
        """
        return None

    def read_usages(self, asked: Sequence[tuple[Handle, int, int]]) -> Sequence[UsagePiece | None]:
        """`read_usage` of many tasks: handle, generation and offset of each. One that cannot be read is None."""
        found: list[UsagePiece | None] = []
        for handle, generation, offset in asked:
            try:
                found.append(self.read_usage(handle, generation, offset))
            except (DanluError, OSError) as error:
                log.warning("what rank %s of %s uses cannot be read: %s", handle.rank, handle.job_id, error)
                found.append(None)
        return found

    @abstractmethod
    def stop(self, handles: Sequence[Handle], grace_seconds: float) -> None:
        """Ask the tasks to end and return at once: SIGTERM to all of a task's processes, SIGKILL after the grace.

        Quiet when a task is already gone. Called again with a shorter grace, the shorter one counts.
        """

    def release(self, job_id: str, attempt: int) -> None:  # noqa: B027
        """Give back what was reserved for an attempt that has ended; its files stay. Quiet when there is nothing."""

    @abstractmethod
    def forget(self, job_id: str, attempt: int) -> None:
        """Remove what an ended attempt left behind (folders, namespaces). Quiet when there is nothing."""

    def leftovers(self) -> Sequence[tuple[str, int]]:
        """Return (job, attempt) of whatever there is something to forget of, running or not.

        A server that was killed between the end of an attempt and `forget` leaves such. None where nodes clean up
        by themselves.
        """
        return ()
