"""The contract of an engine, for authors of engines."""

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
"""How long to wait for a connection to a port of a task."""


class Handle(BaseModel):
    """A started task. Plain JSON: it is stored, and works again after a server restart."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    job_id: str
    attempt: int
    rank: int
    node: str


class Observation(BaseModel):
    """Current state of a task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: TaskState
    exit_code: int | None = None
    """Exit code of the command; 128 + n when it was killed by signal n."""

    reason: str = ""
    """Code from the reason catalogue, when the engine knows more than the exit code says."""

    message: str = ""
    started_at: float | None = None
    """Unix time at which the command started."""

    ended_at: float | None = None
    is_output_complete: bool = True
    """False when outputs were not uploaded, whatever the exit code: the files on the node are kept."""

    log_bytes: int = 0
    """Length of the log so far; final once the state is final."""


class LogMark(BaseModel):
    """Length of the log at a point in time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    offset: int
    at: float


class LogPiece(NamedTuple):
    """Bytes of a log, with time marks."""

    data: bytes
    marks: Sequence[LogMark]


class CopiedLog(NamedTuple):
    """Number of log bytes copied into a file, with time marks."""

    size: int
    marks: Sequence[LogMark]


class UsagePiece(NamedTuple):
    """New bytes of a task's usage file (`danlu.journal.usage`)."""

    generation: int
    offset: int
    """Where to write them; 0: they replace the whole file."""

    data: bytes


@dataclass(frozen=True)
class Credentials:
    """What a started attempt needs and its plan must not contain."""

    server_url: str
    token: str = field(repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    owner_id: int | None = None
    """User id of the job's owner. Engines that run jobs under their own uid use one uid per user."""


class TerminalSize(NamedTuple):
    rows: int
    columns: int


class Channel(ABC):
    """An additional command in a running task. It ends when the channel is closed or the task ends."""

    @abstractmethod
    def read(self, limit: int) -> bytes:
        """Block until there is output, and return at most `limit` bytes of it; empty at the end."""

    def read_errors(self, limit: int) -> bytes:  # noqa: ARG002
        """Like `read`, for stderr; always empty when stderr is merged into stdout."""
        return b""

    @abstractmethod
    def write(self, data: bytes) -> int:
        """Write to stdin without blocking. Return the number of bytes taken: 0 when the pipe is full, all of them when
        the command has ended."""

    @abstractmethod
    def end_input(self) -> bool:
        """Close stdin without blocking. False: earlier input is still unread, try again."""

    @abstractmethod
    def resize(self, size: TerminalSize) -> None:
        """Resize the terminal. Does nothing without a terminal."""

    @abstractmethod
    def exit_code(self) -> int:
        """Block until the command ends; 128 + n when it was killed by signal n."""

    @abstractmethod
    def close(self) -> None:
        """Close the channel; safe after the command has ended."""


@runtime_checkable
class CanOpenChannels(Protocol):
    """An engine that can run additional commands in running tasks."""

    def open_channel(
        self, handle: Handle, command: Sequence[str], terminal: TerminalSize | None, *, apart: bool = False
    ) -> Channel:
        """Start a command in a task, with a terminal or with plain pipes.

        Without a terminal, `apart` keeps stderr separate from stdout; otherwise they are merged.

        The task does not run             -> raise WrongState
        The command cannot be executed    -> a channel that outputs the error and exits with 127
        """
        ...


@runtime_checkable
class CanConnect(Protocol):
    """An engine that can connect to ports of running tasks."""

    def connect(self, handle: Handle, port: int) -> socket.socket:
        """Return a connection to a TCP port inside the task, and never to a port of its node or of another machine.

        Blocks for at most CONNECT_SECONDS. Tries the task's own address first, then loopback in its gang's network.
        The task does not run                          -> raise WrongState
        The task shares the network of its node        -> raise Unsupported
        Nothing listens there, or it does not answer   -> raise PortClosed
        """
        ...


@runtime_checkable
class CanCopyLogs(Protocol):
    """An engine whose helper process can write remote logs directly into local files."""

    def copy_log(self, handle: Handle, offset: int, *, limit: int, after_mark: int, path: Path, at: int) -> CopiedLog:
        """Like `read_log_piece`, but write the bytes to `path` at offset `at`. The parent folder must exist.

        The disk is full  -> raise StorageFull; a part may have been written
        No answer in time -> raise EngineUnreachable; the same bytes may still be written there later
        """
        ...


class Engine(ABC):
    """Starts, watches and stops tasks. Holds no state that a restart would lose."""

    name: ClassVar[str]
    is_remote: ClassVar[bool] = False
    """Whether tasks run on other machines, and so need an address of the server that these can reach."""

    @classmethod
    @abstractmethod
    def create(cls, settings: EngineSettings) -> Engine:
        """Create the engine of a server. May take a moment: it probes what the machine or cluster supports."""

    @abstractmethod
    def nodes(self) -> Sequence[NodeInfo]:
        """Return the nodes that are online. Within 5 s."""

    def addresses(self) -> Sequence[str]:
        """Return the addresses of all machines of the cluster, including those that run no tasks. Within 5 s."""
        return ()

    def private_paths(self) -> Sequence[Path]:
        """Return paths of this engine that no job on the server's machine may see, such as its keys."""
        return ()

    def keep_away_from(self, addresses: Sequence[str]) -> None:  # noqa: B027
        """Block traffic from tasks to these machines (nodes of other engines). Applies to running tasks too."""

    @abstractmethod
    def start(self, plan: Plan, credentials: Credentials) -> Sequence[Handle]:
        """Start all tasks of an attempt, or none. Returns at once: the tasks fetch their inputs themselves.

        Idempotent: tasks that already exist are returned as they are. The server calls it again when it was killed
        before it recorded the start.
        Cannot be started                    -> undo what was done, raise DanluError with the reason
        """

    @abstractmethod
    def poll(self, handles: Sequence[Handle]) -> Sequence[Observation | None]:
        """Return the current state of many tasks, in the order of the handles. Within 5 s; cheap when nothing changed.

        Unknown handle (the node has no record) -> state=LOST, never an exception
        Started but no process yet              -> state=STARTING
        Node offline                            -> None for its handles; the caller keeps the last state
        """

    @abstractmethod
    def read_log(self, handle: Handle, offset: int, limit: int) -> bytes:
        """Return at most `limit` bytes of the log from `offset`; empty at its end, or when there is no log."""

    @abstractmethod
    def read_marks(self, handle: Handle, offset: int) -> Sequence[LogMark]:
        """Return the time marks of the log with an offset greater than `offset`, oldest first."""

    def read_log_piece(self, handle: Handle, offset: int, *, limit: int, after_mark: int) -> LogPiece:
        """Combine `read_log` and `read_marks`, so that remote engines need only one round trip."""
        return LogPiece(self.read_log(handle, offset, limit), self.read_marks(handle, after_mark))

    def read_usage(self, handle: Handle, generation: int, offset: int) -> UsagePiece | None:  # noqa: ARG002
        """Return what a task's usage file has gained since `offset` of this generation.

        The file has a new generation            -> the whole file
        Nothing was measured, or node offline    -> None
        """
        return None

    def read_usages(self, asked: Sequence[tuple[Handle, int, int]]) -> Sequence[UsagePiece | None]:
        """Call `read_usage` for many tasks, each given as (handle, generation, offset). None where it fails."""
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
        """Send SIGTERM to all processes of the tasks, and SIGKILL after the grace period. Returns at once.

        Does nothing for tasks that have ended. When called again with a shorter grace, the shorter one applies.
        """

    def release(self, job_id: str, attempt: int) -> None:  # noqa: B027
        """Release what was reserved for an ended attempt; keep its files. Idempotent."""

    @abstractmethod
    def forget(self, job_id: str, attempt: int) -> None:
        """Remove what an ended attempt left behind (folders, namespaces). Idempotent."""

    def leftovers(self) -> Sequence[tuple[str, int]]:
        """Return (job, attempt) of everything that `forget` would remove, whether it runs or not.

        Needed when the server was killed between the end of an attempt and `forget`. Empty for engines whose nodes
        clean up by themselves.
        """
        return ()
