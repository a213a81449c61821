"""The first process of a task: starts the command, collects its dead, and ends all of its processes.

    python -I -S init.py CONTROL_FD

One file that needs nothing else, because it is what a sandbox sees of Danlu. It talks to the shim over a socket, one
JSON object per line:

    shim -> init    {"do": "start", "command": [...], "env": {...}, "workdir": "...", "uid": 1, "gid": 1, "root": null,
                     "spared": ["mpirun"]}
                    {"do": "stop", "grace_seconds": 30}
                    {"do": "execute", "id": 1, "command": [...], "env": {...}, "has_terminal": true}    and three files
    init -> shim    {"event": "started", "at": 1700000000.0}
                    {"event": "not_started", "errno": 2, "word": "trian.py"}
                    {"event": "ended", "code": 0, "at": 1700000000.0}       the command; its children may still live
                    {"event": "executed", "id": 1, "code": 0}

The environment of the job arrives here, not with exec, so that nothing in it (LD_PRELOAD) reaches a process outside.
When the shim is gone the socket closes, and everything ends at once.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import socket
import sys
import termios
import time
from collections.abc import Callable
from typing import Any

AFTER_END_SECONDS = 2.0
"""How long processes that the command left behind may take to end after SIGTERM."""

_FOREVER = 3600.0


class Init:
    def __init__(self, control: int) -> None:
        self._control = control
        self._socket = socket.socket(fileno=control)
        self._is_namespace = os.getpid() == 1
        self._received = b""
        self._main = 0
        self._kill_at: float | None = None
        self._is_alone = False
        self._spared: list[str] = []
        self._actions: dict[str, Callable[[dict[str, Any]], None]] = {
            "start": self._start,
            "stop": self._stop,
            "execute": self._execute,
        }
        self._started: dict[str, Any] = {}
        self._files: list[int] = []
        """Received, and not yet used by a command."""
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
            # nobody watches any more
            self._kill()
            self._is_alone = True
            return
        *lines, self._received = (self._received + piece).split(b"\n")
        for line in lines:
            message = json.loads(line)
            self._actions[message["do"]](message)

    def _tell(self, **event: Any) -> None:
        with contextlib.suppress(OSError):  # the shim is gone; the closed socket says the same
            os.write(self._control, json.dumps(event).encode() + b"\n")

    def _start(self, message: dict[str, Any]) -> None:
        if self._kill_at is not None:
            return
        self._spared = message["spared"]
        self._started = message
        self._main, problem = _fork(message)
        if problem is not None:
            self._tell(event="not_started", **problem)
        else:
            self._tell(event="started", at=time.time())

    def _execute(self, message: dict[str, Any]) -> None:
        """Start another command beside the one of the job, with the same rights and what that one was given."""
        files, self._files = self._files[:3], self._files[3:]
        if self._main and self._kill_at is None:
            extra = {"command": message["command"], "files": files, "has_terminal": message["has_terminal"]}
            pid, problem = _fork({**self._started, **extra, "more_env": message["env"], "like": self._main})
            self._executed[pid] = message["id"]
            if problem is not None:
                told = f"{problem['word']}: {problem['message']}"
                self._tell(event="executed", id=self._executed.pop(pid), error=told)
        else:
            self._tell(event="executed", id=message["id"], error="the command is not running now")
        for file in files:
            os.close(file)

    def _stop(self, message: dict[str, Any]) -> None:
        at = time.monotonic() + float(message["grace_seconds"])
        if self._kill_at is None:
            self._terminate(spared=self._spared)
        self._kill_at = at if self._kill_at is None else min(at, self._kill_at)
        if not self._main:
            self._is_alone = True

    def _collect(self) -> None:
        """Take leave of every child that ended. All processes of a task are children here sooner or later."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._is_alone = self._is_alone or self._main != 0
                return
            if pid == 0:
                return
            if pid == self._main:
                self._tell(event="ended", code=_exit_code(status), at=time.time())
                if self._kill_at is None:
                    self._kill_at = time.monotonic() + AFTER_END_SECONDS
                    self._terminate(spared=[])
            elif pid in self._executed:
                self._tell(event="executed", id=self._executed.pop(pid), code=_exit_code(status))

    def _terminate(self, *, spared: list[str]) -> None:
        """Signal every process once, and none that a handler starts afterwards to save its work.

        They are halted first: a list of processes that run is out of date as soon as it is read. Spared programs are
        left to end when what they started does.
        """
        halted: set[int] = set()
        for _ in range(20):
            new = [pid for pid in self._members() if pid not in halted and _name(pid) not in spared]
            if not new:
                break
            for pid in new:
                _signal(pid, signal.SIGSTOP)
            halted.update(new)
        for pid in self._executed:
            _signal(pid, signal.SIGHUP)  # a shell that somebody types into does not mind SIGTERM
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
        # what is left hangs in the kernel; look again soon
        self._kill_at = time.monotonic() + 1.0

    def _members(self) -> list[int]:
        """All living processes of the task except this one."""
        parents = processes()
        if self._is_namespace:
            return [pid for pid in parents if pid != 1]
        return descendants(os.getpid(), parents)


def descendants(ancestor: int, parents: dict[int, int]) -> list[int]:
    """Return the processes below one, given (pid -> parent) of all."""
    found, grew = {ancestor}, True
    while grew:
        more = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        found |= more
        grew = bool(more)
    return sorted(found - {ancestor})


def processes() -> dict[int, int]:
    """Return pid -> parent of the processes that have not ended."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state not in (b"Z", b"X"):
            found[int(name)] = int(parent)
    return found


def _fork(message: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
    """Start a command. Return its pid, and what kept it from being executed, if something did."""
    failed, fail = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _become(message, fail)
    os.close(fail)
    answer = os.read(failed, 4096)
    os.close(failed)
    return pid, json.loads(answer) if answer else None


def _become(message: dict[str, Any], fail: int) -> None:
    """Turn this forked process into the command. Never returns."""
    word = message["command"][0]
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        if message.get("root"):
            os.chroot(message["root"])
        if message.get("uid") is not None:
            os.setgroups([])
            os.setgid(message["gid"])
            os.setuid(message["uid"])
        os.umask(0o022)
        os.chdir(message["workdir"])
        env = message["env"]
        if "like" in message:
            _use_files(message)
            env = {**(_environment_of(message["like"]) or env), **message["more_env"]}
        os.execvpe(word, message["command"], env)
    except OSError as error:
        code, text = error.errno, error.strerror
    except ValueError as error:
        code, text = errno.EINVAL, str(error)
    os.write(fail, json.dumps({"errno": code, "word": word, "message": text}).encode())
    os._exit(126 if code == errno.EACCES else 127)


def _use_files(message: dict[str, Any]) -> None:
    for number, file in enumerate(message["files"]):
        os.dup2(file, number)
    if message["has_terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _environment_of(pid: int) -> dict[str, str]:
    """What a process was given when it began, which holds what setup exported. Nothing when it may not be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = [os.fsdecode(pair).partition("=") for pair in file.read().split(b"\0") if b"=" in pair]
    except OSError:
        return {}
    return {name: value for name, _, value in pairs}


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _exit_code(status: int) -> int:
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _watch_over_orphans() -> None:
    """Without a PID namespace: adopt what detaches itself, and end when the shim ends."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def main() -> None:
    if os.getpid() != 1:
        _watch_over_orphans()
    control = int(sys.argv[1])
    os.set_inheritable(control, False)
    Init(control).run()


if __name__ == "__main__":
    main()
