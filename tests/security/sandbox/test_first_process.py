"""Init is pid 1 of the sandbox and talks to the shim. It has the job's own user, and no right that the job has not."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.node.codec import Malformed
from danlu.node.supervise.init_process import MAX_LINE_BYTES, InitProcess
from danlu.node.supervise.orders import Ended, Start, Stop, write
from danlu.spec.states import TaskState
from danlu.testing.engines import Starter

STATUS = "grep -E '^(Uid|Gid|Groups|CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs)' {}"
RIGHTS = (
    "Uid:\t1000000066\t1000000066\t1000000066\t1000000066\n"
    "Gid:\t1000000066\t1000000066\t1000000066\t1000000066\n"
    "Groups:\t \n"
    "CapInh:\t0000000000000000\n"
    "CapPrm:\t0000000000000000\n"
    "CapEff:\t0000000000000000\n"
    "CapAmb:\t0000000000000000\n"
    "NoNewPrivs:\t1\n"
)

LOOK_INSIDE = r"""
import ctypes, os
for name in ('environ', 'mem', 'maps', 'auxv', 'stack', 'syscall', 'io', 'map_files', 'fd', 'root', 'cwd', 'exe'):
    path = '/proc/1/' + name
    try:
        if name in ('root', 'cwd', 'exe'):
            os.readlink(path)
        elif os.path.isdir(path):
            os.listdir(path)
        else:
            with open(path, 'rb') as file:
                file.read(1)
        print('read', name)
    except OSError:
        pass
try:
    with open('/proc/1/mem', 'r+b', buffering=0) as file:
        print('opened memory for writing')
except OSError:
    pass
for name in ('oom_score_adj', 'comm', 'clear_refs', 'attr/current', 'uid_map', 'setgroups', 'timerslack_ns'):
    try:
        with open('/proc/1/' + name, 'w') as file:
            file.write('0')
        print('wrote', name)
    except OSError:
        pass
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, 1, 0, 0) != -1:
    print('attached')
vector = (ctypes.c_ulong * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
if libc.process_vm_readv(1, vector, 1, vector, 1, 0) != -1:
    print('read across')
if libc.syscall(438, libc.syscall(434, 1, 0), 3, 0) != -1:
    print('took a descriptor')
print('to the end')
"""


def run(starter: Starter, command: str | list[str]) -> str:
    job = starter.start(command)
    job.wait()
    return job.log()


class TestRights:
    def test_it_has_those_of_the_job(self, starter: Starter) -> None:
        assert run(starter, STATUS.format("-h /proc/1/status /proc/self/status")) == RIGHTS * 2

    def test_so_has_a_shell_in_the_task(self, starter: Starter, engine: LocalEngine) -> None:
        job = starter.start("echo up; sleep 60")
        job.wait_for_log("up")
        channel = engine.open_channel(job.handles[0], ["sh", "-c", STATUS.format("/proc/self/status")], None)
        said = b""
        while piece := channel.read(4096):
            said += piece
        channel.close()
        assert said.decode() == RIGHTS

    @pytest.mark.parametrize("seccomp", [True, False], ids=["filtered", "not filtered"])
    def test_the_job_cannot_look_into_it(self, settings: EngineSettings, starter: Starter, seccomp: bool) -> None:
        """Its memory and its socket to the shim are out of reach, although it is the same user."""
        starter.engine = LocalEngine(settings.model_copy(update={"seccomp": seccomp}))
        assert run(starter, ["python3", "-c", LOOK_INSIDE]) == "to the end\n"

    def test_no_rights_are_gained_by_a_program_of_the_machine(self, starter: Starter) -> None:
        """Programs with the setuid bit, of which every machine has some."""
        log = run(starter, "su -c id root </dev/null; mount -t tmpfs none /tmp; passwd -S root; newgrp root; id -u")
        assert log.splitlines()[-1] == "1000000066"
        assert "uid=0" not in log


class TestSignals:
    def test_no_signal_of_the_job_ends_it(self, starter: Starter) -> None:
        job = starter.start("for n in $(seq 1 64); do kill -$n 1 2>/dev/null; done; sleep 0.3; echo still; exit 6")
        (seen,) = job.wait()
        assert (seen.exit_code, job.log()) == (6, "still\n")

    def test_a_job_that_starves_it_harms_itself_alone(self, starter: Starter) -> None:
        """prlimit may be used on processes of the same user. The task ends, with a record; others go on."""
        other = starter.start("echo up; sleep 60")
        other.wait_for_log("up")
        program = "import resource as r\nfor k in (r.RLIMIT_NOFILE, r.RLIMIT_CPU, r.RLIMIT_AS): r.prlimit(1, k, (1, 1))"
        job = starter.start(["python3", "-c", f"{program}\nprint('done', flush=True)"])
        (seen,) = job.wait()
        assert seen.state in (TaskState.SUCCEEDED, TaskState.FAILED)
        assert other.observe()[0].state is TaskState.RUNNING

    def test_the_shim_is_out_of_reach(self, starter: Starter, engine: LocalEngine) -> None:
        job = starter.start(
            "kill -9 -1; kill -9 0; kill -STOP $PPID; echo; sleep 0.2; ls -d /proc/[0-9]* | wc -l; exit 3"
        )
        (seen,) = job.wait()
        assert seen.state is TaskState.FAILED
        assert seen.exit_code in (3, 137)
        folder = Path(engine.nodes()[0].work_dir, job.plan.job_id, "1", "0")
        assert (folder / "exit.json").exists()

    def test_neither_its_folder_nor_its_door_can_be_seen(self, starter: Starter, engine: LocalEngine) -> None:
        """The control pipe, the door, the record and the token of the stager are in the task's folder."""
        job = starter.start("echo up; sleep 60")
        job.wait_for_log("up")
        folder = Path(engine.nodes()[0].work_dir, job.plan.job_id, "1", "0")
        assert (folder / "door").exists()
        names = " ".join(str(folder / name) for name in ("door", "control", "task.json", "token", "log", "lock", ""))
        log = run(starter, f"for path in {names} /proc/self/cwd/../../../..{folder}; do stat $path && echo seen; done")
        assert "seen" not in log
        inside = run(starter, "readlink /proc/self/fd/1; ls -la /proc/self/fd/1/..; cat /proc/self/fd/1/../task.json")
        assert '"version"' not in inside


class TestWhatTheShimBelieves:
    """Somebody who had taken over init could write anything to its socket."""

    @pytest.fixture
    def pair(self) -> Iterator[tuple[InitProcess, socket.socket]]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours, theirs:
            yield InitProcess(os.getpid(), ours), theirs

    @pytest.mark.parametrize(
        "said",
        [
            b"\n",
            b"hello\n",
            b"{}\n",
            b"[1]\n",
            b'{"is": "ended", "code": "0", "at": 1}\n',
            b'{"is": "ended", "code": 0}\n',
            b'{"is": "executed", "id": 1, "error": {"a": 1}}\n',
            b"\xff\xfe\n",
            b"[" * 60000 + b"\n",
            write(Start(("sh",), {}, "/")),
            write(Stop(1.0)),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, pair: tuple[InitProcess, socket.socket], said: bytes) -> None:
        init, theirs = pair
        theirs.sendall(said)
        with pytest.raises(Malformed):
            init.hear()

    def test_a_line_without_end_does_not_fill_its_memory(self, pair: tuple[InitProcess, socket.socket]) -> None:
        init, theirs = pair
        theirs.setblocking(False)
        sent: list[int] = []

        def send_until_refused() -> None:
            while True:
                try:
                    sent.append(theirs.send(b"x" * 65536))
                except BlockingIOError:
                    init.hear()

        with pytest.raises(Malformed, match="at most"):
            send_until_refused()
        assert sum(sent) < 10 * MAX_LINE_BYTES

    def test_files_that_are_sent_along_are_not_taken(self, pair: tuple[InitProcess, socket.socket]) -> None:
        init, theirs = pair
        before = len(os.listdir("/proc/self/fd"))
        with open("/dev/null") as null:
            socket.send_fds(theirs, [write(Ended(0, 1.0))], [null.fileno()] * 10)
        assert init.hear() == [Ended(0, 1.0)]
        assert len(os.listdir("/proc/self/fd")) == before

    def test_one_that_does_not_listen_does_not_keep_the_shim_waiting(
        self, pair: tuple[InitProcess, socket.socket]
    ) -> None:
        init, _ = pair
        for _ in range(20000):
            init.stop(1.0)
