"""The process that starts attempts: it may die, and it ends with its engine."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.local import LocalEngine
from danlu.engines.local.forking import ForkServer
from danlu.errors import EngineUnavailable
from danlu.node.task import TASK, Gang
from danlu.spec.states import TaskState
from danlu.testing.engines import Starter


@pytest.fixture
def kind() -> str:
    return "sandbox"


def fork_servers() -> list[int]:
    """Those whose parent is this process."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            if fields["Name"] == "danlu-forks" and fields["PPid"] == str(os.getpid()):
                found.append(int(fields["Pid"]))
    return found


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # whoever started it collects it


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[int]:
    with open(tmp_path / "start.lock", "w") as file:
        yield file.fileno()


def test_another_takes_the_place_of_one_that_died(starter: Starter, engine: LocalEngine) -> None:
    before = set(fork_servers())
    assert starter.start("true").wait()[0].state is TaskState.SUCCEEDED
    (first,) = set(fork_servers()) - before
    kill(first)
    running = starter.start("echo ready; sleep 3600")
    running.wait_for_log("ready")
    (second,) = set(fork_servers()) - before
    assert second != first
    kill(second)
    assert engine.poll(running.handles)[0].state is TaskState.RUNNING  # type: ignore[union-attr]


def test_it_ends_with_its_engine(lock: int) -> None:
    before = set(fork_servers())
    forks = ForkServer(Path(sys.executable))
    assert forks.start(Gang((), {}, (), ""), lock) == ""
    assert len(set(fork_servers()) - before) == 1
    del forks
    assert set(fork_servers()) <= before


def test_a_request_whose_writer_died_starts_nothing(lock: int) -> None:
    forks = ForkServer(Path(sys.executable))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        forks._send([lock, theirs.fileno()])
        theirs.close()
        ours.sendall(b'{"version": 1, "folders": ["/t/')
        ours.shutdown(socket.SHUT_WR)
        assert b"expected a JSON object" in ours.recv(4096)


def test_tasks_that_take_too_long_to_start_are_said_to(lock: int, tmp_path: Path) -> None:
    folder = tmp_path / "0"
    folder.mkdir()
    os.mkfifo(folder / TASK)  # reading the task waits for a writer
    forks = ForkServer(Path(sys.executable), start_seconds=1)
    with pytest.raises(EngineUnavailable, match="tasks did not start within 1 s"):
        forks.start(Gang((str(folder),), {}, (), ""), lock)
    (folder / TASK).write_text("")  # the shim goes on, and ends because this is no task
