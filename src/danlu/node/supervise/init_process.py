"""The shim's side of init: start it, in the sandbox if there is one, and exchange messages with it."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
from collections.abc import Mapping
from typing import NamedTuple, NoReturn, Optional

from danlu.node.codec import Malformed
from danlu.node.supervise import linux, network, orders
from danlu.node.supervise.cgroup import Groups
from danlu.node.supervise.image_root import lay_out, mount_root
from danlu.node.supervise.orders import Event, Execute, Start, Stop
from danlu.node.supervise.records import MOUNTS
from danlu.node.supervise.seccomp import build_filter
from danlu.node.task import Task

MAX_LINE_BYTES = 1 << 16
ORDER_SECONDS = 5.0
"""How long to wait for init to receive an order."""

BARE_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


class Surroundings(NamedTuple):
    """Folder, log, network and limits of a task."""

    folder: str
    log: int
    """Opened for appending."""

    net: Optional[network.Network]
    groups: Groups
    max_file_bytes: int


class InitProcess:
    def __init__(self, pid: int, control: socket.socket) -> None:
        self.pid = pid
        self.control: Optional[socket.socket] = control
        """None once init has closed it."""

        self._received = b""

    @classmethod
    def start(cls, task: Task, env: Mapping[str, str], around: Surroundings) -> InitProcess:
        ours, theirs = socket.socketpair()
        argv = [*task.wrap, *task.init, str(theirs.fileno()), *_whom_to_become(task)]
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become_init(argv, task, around, control=theirs, parent=parent)
        theirs.close()
        order = Start(command=task.command, env=env, workdir=task.workdir, spared=task.spared)
        with contextlib.suppress(OSError):  # it ended before it could read; its exit status says why
            ours.sendall(orders.write(order))
        ours.setblocking(False)
        return cls(pid, ours)

    def stop(self, grace_seconds: float) -> None:
        if self.control is not None:
            with contextlib.suppress(OSError):  # it is ending already
                self.control.send(orders.write(Stop(grace_seconds)))

    def execute(self, order: Execute, files: list[int]) -> None:
        """Start an additional command. Raise OSError when init cannot accept it."""
        if self.control is None:
            raise OSError("its command is not running now")
        self.control.settimeout(ORDER_SECONDS)
        try:
            socket.send_fds(self.control, [orders.write(order)], files)
        finally:
            self.control.setblocking(False)

    def hear(self) -> list[Event]:
        """Return the events since the last call. Raise Malformed when one is invalid."""
        events: list[Event] = []
        while self.control is not None:
            try:
                piece = self.control.recv(65536)
            except BlockingIOError:
                break
            except ConnectionError:
                piece = b""
            if not piece:
                self.close()
                break
            *lines, self._received = (self._received + piece).split(b"\n")
            events += [_event(line) for line in lines]
            if len(self._received) > MAX_LINE_BYTES:
                raise Malformed(f"expected a line of at most {MAX_LINE_BYTES} bytes")
        return events

    def close(self) -> None:
        if self.control is not None:
            self.control.close()
            self.control = None


def _whom_to_become(task: Task) -> tuple[str, str]:
    """Init's arguments for user id and root folder; empty to keep the current ones."""
    return "" if task.uid is None else str(task.uid), "" if task.image is None else task.image.root


def _event(line: bytes) -> Event:
    found = orders.read(line)
    if isinstance(found, (Start, Stop, Execute)):
        raise Malformed(f"expected an event, got an order: {type(found).__name__}")
    return found


def _become_init(argv: list[str], task: Task, around: Surroundings, *, control: socket.socket, parent: int) -> NoReturn:
    """Turn this forked process into the sandbox."""
    try:
        os.setsid()
        around.groups.join()
        linux.be_ended_first()
        _limit(task, around)
        if around.net is not None:
            network.enter(around.net)
        _check_inputs(around.folder)
        if task.image is not None:
            lay_out(around.folder, task.image)
            mount_root(around.folder)
        if task.wrap:
            linux.die_with_parent(signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(around.log, 1)
        os.dup2(around.log, 2)
        os.set_inheritable(control.fileno(), True)
        if task.wrap and task.filters_calls:
            argv = [argv[0], *filter_words(), *argv[1:]]
        os.execvpe(argv[0], argv, BARE_ENVIRONMENT)
    except OSError as error:
        os.write(around.log, f"danlu: {argv[0]}: {error}\n".encode())
    os._exit(1)


def _check_inputs(folder: str) -> None:
    """Reject inputs that are symlinks: the sandbox mounts them with the rights of the shim."""
    with contextlib.suppress(FileNotFoundError), os.scandir(os.path.join(folder, MOUNTS)) as entries:
        for entry in entries:
            if not (entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)):
                raise OSError(f"{entry.path}: expected a folder or a file")


def _limit(task: Task, around: Surroundings) -> None:
    """Set limits that the kernel enforces per process and that children inherit."""
    wanted = {resource.RLIMIT_FSIZE: around.max_file_bytes}
    if task.wrap and task.limits.max_processes and not around.groups.pids:
        wanted[resource.RLIMIT_NPROC] = task.limits.max_processes  # counts all processes of this user
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (allowed, allowed))


def filter_words() -> list[str]:
    """Return bubblewrap's option to read the seccomp filter from a pipe; empty on an unsupported architecture."""
    program = build_filter(os.uname().machine)
    if program is None:
        return []
    read, write = os.pipe()
    os.set_inheritable(read, True)
    os.write(write, program)  # fits into the pipe's buffer
    os.close(write)
    return ["--seccomp", str(read)]
