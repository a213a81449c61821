"""The first process of a task: starts the command, reaps children, and ends all processes of the task.

    python -I -S init.py CONTROL_FD UID ROOT

First it changes its root to that of the task's image (ROOT) and switches to the job's user (UID), if these are given.
From then on it has no more rights than the job, and needs none: it can signal the job's processes because they belong
to the same user. They cannot trace it or read its memory, and their signals do not end pid 1.

It talks to the shim over a socket (`orders.py`). The job's environment arrives there and not with exec, so that no
variable in it (LD_PRELOAD) affects a process outside. When the shim dies the socket closes, and everything ends.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import termios
import time
from collections.abc import Sequence
from typing import NamedTuple, NoReturn, Optional

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.supervise import orders
from danlu.node.supervise.orders import Ended, Event, Execute, Executed, NotStarted, Start, Started, Stop
from danlu.node.supervise.processes import descendants, environment_of, process_name, processes

AFTER_END_SECONDS = 2.0
"""How long processes that the command left behind may take to end after SIGTERM."""

NUM_FILES = 3
"""stdin, stdout and stderr of an additional command."""

_FOREVER = 3600.0
_RESET = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ)
"""Signals for which Python or this script changes the default action."""

_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36
_LINUX_CAPABILITY_VERSION_3 = 0x20080522


class Init:
    def __init__(self, control: int) -> None:
        self._control = control
        self._socket = socket.socket(fileno=control)
        self._is_namespace = os.getpid() == 1
        self._received = b""
        self._main = 0
        self._kill_at: Optional[float] = None
        self._is_alone = False
        self._started: Optional[Start] = None
        self._files: list[int] = []
        """Received files that no command uses yet."""
        self._executed: dict[int, int] = {}

    def run(self) -> None:
        """Return when the task has no process left."""
        wake_up, woken = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(ignored, lambda *_: None)
        while not self._is_alone:
            ready = select.select([self._control, wake_up], [], [], self._wait_seconds())[0]
            if wake_up in ready:
                os.read(wake_up, 4096)
            if self._control in ready:
                self._receive()
            self._collect()
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._kill()

    def _wait_seconds(self) -> float:
        if self._kill_at is None:
            return _FOREVER
        return max(0.0, self._kill_at - time.monotonic())

    def _receive(self) -> None:
        try:
            piece, files, _, _ = socket.recv_fds(self._socket, 65536, 16)
        except ConnectionError:
            piece, files = b"", []
        for file in files:
            os.set_inheritable(file, False)
        self._files += files
        if not piece:
            # the shim is dead
            self._kill()
            self._is_alone = True
            return
        *lines, self._received = (self._received + piece).split(b"\n")
        for line in lines:
            order = orders.read(line)
            if isinstance(order, Start):
                self._start(order)
            elif isinstance(order, Stop):
                self._stop(order)
            elif isinstance(order, Execute):
                self._execute(order)

    def _tell(self, event: Event) -> None:
        with contextlib.suppress(OSError):  # the shim is dead, which the closed socket reports too
            os.write(self._control, orders.write(event))

    def _start(self, order: Start) -> None:
        if self._kill_at is not None:
            return
        self._started = order
        self._main, problem = _fork(order)
        self._tell(problem if problem is not None else Started(time.time()))

    def _execute(self, order: Execute) -> None:
        """Start an additional command, with the same rights and variables as that of the job."""
        files, self._files = self._files[:NUM_FILES], self._files[NUM_FILES:]
        if self._started is not None and self._main and self._kill_at is None:
            # the process's environment includes what setup exported
            env = {**(environment_of(self._main) or self._started.env), **order.env}
            another = self._started._replace(command=order.command, env=env)
            pid, problem = _fork(another, _Beside(files, order.has_terminal))
            self._executed[pid] = order.id
            if problem is not None:
                told = f"{problem.word}: {problem.message}"
                self._tell(Executed(self._executed.pop(pid), error=told))
        else:
            self._tell(Executed(order.id, error="the command is not running now"))
        for file in files:
            os.close(file)

    def _stop(self, order: Stop) -> None:
        at = time.monotonic() + order.grace_seconds
        if self._kill_at is None:
            self._terminate(spared=self._started.spared if self._started is not None else ())
        self._kill_at = at if self._kill_at is None else min(at, self._kill_at)
        if not self._main:
            self._is_alone = True

    def _collect(self) -> None:
        """Reap every child that ended. Orphans of the task become children of this process."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._is_alone = self._is_alone or self._main != 0
                return
            if pid == 0:
                return
            if pid == self._main:
                self._tell(Ended(_exit_code(status), time.time()))
                if self._kill_at is None:
                    self._kill_at = time.monotonic() + AFTER_END_SECONDS
                    self._terminate(spared=())
            elif pid in self._executed:
                self._tell(Executed(self._executed.pop(pid), code=_exit_code(status)))

    def _terminate(self, *, spared: Sequence[str]) -> None:
        """Send SIGTERM to every process once, but not to those that a handler starts afterwards to save its work.

        Processes are stopped with SIGSTOP first, because a list of running processes is outdated at once. Spared
        programs get no signal: they end when the processes that they wait for do.
        """
        halted: set[int] = set()
        for _ in range(20):
            new = [pid for pid in self._members() if pid not in halted and process_name(pid) not in spared]
            if not new:
                break
            for pid in new:
                _signal(pid, signal.SIGSTOP)
            halted.update(new)
        for pid in self._executed:
            _signal(pid, signal.SIGHUP)  # an interactive shell ignores SIGTERM
        for number in (signal.SIGTERM, signal.SIGCONT):
            for pid in halted:
                _signal(pid, number)

    def _kill(self) -> None:
        for _ in range(1000):
            members = self._members()
            for pid in members:
                _signal(pid, signal.SIGKILL)
            if not members:
                return
            self._collect()
            time.sleep(0.002)
        # what is left hangs in the kernel; try again soon
        self._kill_at = time.monotonic() + 1.0

    def _members(self) -> list[int]:
        """Return all living processes of the task except this one."""
        parents = processes()
        if self._is_namespace:
            return [pid for pid in parents if pid != 1]
        return descendants(os.getpid(), parents)


class _Beside(NamedTuple):
    """Files of an additional command."""

    files: Sequence[int]
    has_terminal: bool


def _fork(order: Start, beside: Optional[_Beside] = None) -> tuple[int, Optional[NotStarted]]:
    """Start a command. Return its pid, and the error when it could not be executed."""
    failed, fail = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _become(order, beside, fail)
    os.close(fail)
    answer = os.read(failed, 4096)
    os.close(failed)
    told = orders.read(answer) if answer else None
    return pid, told if isinstance(told, NotStarted) else None


def _become(order: Start, beside: Optional[_Beside], fail: int) -> NoReturn:
    """Turn this forked process into the command."""
    word = order.command[0] if order.command else ""
    code, text = errno.EIO, "it could not be started"
    try:
        os.setsid()
        for number in _RESET:
            signal.signal(number, signal.SIG_DFL)
        os.umask(0o022)
        os.chdir(order.workdir)
        if beside is not None:
            _use_files(beside)
        os.execvpe(word, order.command, order.env)
    except OSError as error:
        code, text = error.errno or errno.EIO, error.strerror or str(error)
    except ValueError as error:
        code, text = errno.EINVAL, str(error)
    finally:  # this forked process must not continue as a second init
        # a write to a pipe is atomic up to 4096 bytes
        os.write(fail, orders.write(NotStarted(code, word[:500], text[:500])))
        os._exit(126 if code == errno.EACCES else 127)


def _use_files(beside: _Beside) -> None:
    for number, file in enumerate(beside.files):
        os.dup2(file, number)
    if beside.has_terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _exit_code(status: int) -> int:
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def give_up_rights(uid: Optional[int], root: str) -> None:
    """Switch to the image's root and the job's user. Cannot be undone."""
    if root:
        os.chroot(root)
        os.chdir("/")
    if uid is not None:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    sys.path.clear()  # all modules are loaded; never import from these paths in an image


def main() -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    control, uid, root = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    os.set_inheritable(control, False)
    if os.getpid() != 1:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # adopt detached processes, so that they end with the task
    else:
        give_up_rights(int(uid) if uid else None, root)
        none = struct.pack("6I", *[0] * 6)
        if libc.capset(struct.pack("Ii", _LINUX_CAPABILITY_VERSION_3, 0), none) != 0:
            sys.exit(f"danlu: capabilities cannot be dropped: {os.strerror(ctypes.get_errno())}")
        # the job has the same uid, and must not trace this process or read its memory
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    Init(control).run()


if __name__ == "__main__":
    main()
