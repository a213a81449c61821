"""Several simulated machines: a network namespace with an address each, joined by a bridge. Needs root and `ip`.

All processes on them are descendants of a keeper process, which kills them when its standard input is closed: at the
end of the test, or when the test is killed. The namespaces have no names and end with the processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from danlu.node.supervise import linux
from danlu.node.supervise.processes import descendants, processes

NETWORK = "10.77.0."
FIRST_HOST = 10
SWITCH = "switch"
"""The namespace with the bridge; its address is NETWORK + "1"."""


def can_make_machines() -> bool:
    return os.geteuid() == 0 and shutil.which("ip") is not None


class Machines:
    """A context manager: `run` executes on a machine, `enter` moves the calling thread to one, `cut` disconnects it."""

    def __init__(self, names: Sequence[str], log: Path, *, network: str = NETWORK) -> None:
        """`network`: prefix of all addresses; the first machine is number 10."""
        self.addresses = {name: f"{network}{FIRST_HOST + number}" for number, name in enumerate(names)}
        self._network = network
        self._log = log
        self._pids: dict[str, int] = {}

    def __enter__(self) -> Machines:
        command = [sys.executable, "-m", __name__, self._network, *self.addresses]
        with self._log.open("ab") as log:
            self._keeper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self._pids = self._hear()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._keeper:  # closes its input, and waits
            pass

    @property
    def keeper_pid(self) -> int:
        """The keeper, of which all processes on the machines are descendants."""
        return self._keeper.pid

    def start(
        self, name: str, argv: Sequence[str], *, env: Mapping[str, str] | None = None, is_urgent: bool = False
    ) -> int:
        """Start a process on a machine and return its pid; its output goes to the log.

        `is_urgent`: it and its descendants get real-time priority, until `calm` is called.
        """
        asked = {"on": name, "argv": list(argv), "env": dict(env or os.environ), "is_urgent": is_urgent}
        return int(self._ask(asked)["pid"])

    def run(self, name: str, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        """Run a command on a machine and wait for it. Its background processes continue."""
        self.wait(self.start(name, argv, env=env))

    def wait(self, pid: int) -> None:
        """Wait for a process that `start` started. Raise RuntimeError if it failed."""
        code = self._ask({"wait": pid})["code"]
        if code != 0:
            raise RuntimeError(f"a process ended with {code}:\n{self._log.read_text(errors='replace')[-4000:]}")

    def namespace(self, name: str) -> str:
        return f"/proc/{self._pids[name]}/ns/net"

    def within(self, name: str) -> tuple[str, ...]:
        """Prefix of a command that runs it on a machine."""
        return ("nsenter", f"--net={self.namespace(name)}")

    @contextlib.contextmanager
    def enter(self, name: str) -> Iterator[None]:
        """Move this thread, and processes that it starts, to a machine."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        there = os.open(self.namespace(name), os.O_RDONLY | os.O_CLOEXEC)
        linux.enter_namespace(there)
        try:
            yield
        finally:
            linux.enter_namespace(home)
            os.close(there)
            os.close(home)

    def cut(self, name: str) -> None:
        self.run(SWITCH, ["ip", "link", "set", f"to-{name}", "down"])

    def mend(self, name: str) -> None:
        self.run(SWITCH, ["ip", "link", "set", f"to-{name}", "up"])

    def processes(self, name: str) -> dict[int, str]:
        """pid -> command line of all processes on a machine."""
        own = os.stat(self.namespace(name)).st_ino
        found = {}
        for pid, line in self.below().items():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{pid}/ns/net").st_ino == own:
                    found[pid] = line
        return found

    def end_all_on(self, name: str) -> None:
        """Kill all processes on a machine. The machine itself stays."""
        for pid in self.processes(name):
            if pid not in self._pids.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def calm(self, name: str) -> None:
        """Reset all processes on this machine to normal priority."""
        while urgent := [thread for pid in self.processes(name) for thread in _urgent_threads(pid)]:
            for thread in urgent:
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))

    def below(self) -> dict[int, str]:
        """pid -> command line of all processes on all machines, including those in other network namespaces."""
        found = {}
        for pid in descendants(self._keeper.pid, processes()):
            with contextlib.suppress(OSError):
                found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return found

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(json.dumps(request).encode() + b"\n")
        self._keeper.stdin.flush()
        return self._hear()

    def _hear(self) -> dict[str, Any]:
        assert self._keeper.stdout is not None
        line = self._keeper.stdout.readline()
        if not line:
            raise RuntimeError(f"no machines could be made: {self._log.read_text(errors='replace')[-4000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _keep(network: str, names: Sequence[str]) -> None:
    """Main function of the keeper."""
    for told in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(told, lambda *_: None)  # a signal to the tests reaches it too: it ends when its input is closed
    linux.adopt_orphans()
    linux.unshare(linux.CLONE_NEWNET)
    pids = {SWITCH: os.getpid()}
    try:
        _ip("link add bridge type bridge")
        _ip(f"addr add {network}1/24 dev bridge")
        _ip("link set bridge up")
        _ip("link set lo up")
        for number, name in enumerate(names):
            pids[name] = _make_machine(name, f"{network}{FIRST_HOST + number}")
        print(json.dumps(pids), flush=True)
        for line in sys.stdin:
            print(json.dumps(_answer(json.loads(line), pids)), flush=True)
    finally:
        _end_all()


def _make_machine(name: str, address: str) -> int:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        linux.unshare(linux.CLONE_NEWNET)
        theirs.send(b"x")
        signal.pause()
        os._exit(0)
    ours.recv(1)
    _ip(f"link add to-{name} type veth peer name eth0 netns {pid}")
    _ip(f"link set to-{name} master bridge up")
    for words in (f"addr add {address}/24 dev eth0", "link set eth0 up", "link set lo up"):
        subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", "ip", *words.split()], check=True)
    return pid


def _answer(request: dict[str, Any], pids: Mapping[str, int]) -> dict[str, Any]:
    if "wait" in request:
        return {"code": os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])}
    pid = os.fork()
    if pid == 0:
        try:
            linux.enter_namespace(os.open(f"/proc/{pids[request['on']]}/ns/net", os.O_RDONLY | os.O_CLOEXEC))
            os.setsid()
            if request["is_urgent"]:
                _be_urgent()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(2, 1)
            os.execvpe(request["argv"][0], request["argv"], request["env"])
        except OSError as error:
            print(error, file=sys.stderr)
        finally:
            os._exit(127)
    return {"pid": pid}


def _be_urgent() -> None:
    """Get real-time priority if possible; some containers do not allow it."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def _urgent_threads(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        threads = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
        return [thread for thread in threads if os.sched_getscheduler(thread) == os.SCHED_RR]
    return []


def _end_all() -> None:
    """Kill all descendants. Repeated, because children of a killed process become children of this one."""
    while alive := descendants(os.getpid(), processes()):
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True)


if __name__ == "__main__":
    _keep(sys.argv[1], sys.argv[2:])
