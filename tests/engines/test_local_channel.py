"""Commands beside the job's own, with and without a sandbox."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from danlu.engines.base import CanOpenChannels, Channel, TerminalSize
from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.errors import WrongState
from danlu.spec.states import TaskState
from danlu.testing.engines import Starter
from danlu.testing.gates import HOLD


def all_of(channel: Channel) -> tuple[int, bytes]:
    said = b""
    while piece := channel.read(4096):
        said += piece
    code = channel.exit_code()
    channel.close()
    return code, said


def test_a_command_runs_in_the_task(engine: LocalEngine, starter: Starter) -> None:
    assert isinstance(engine, CanOpenChannels)
    job = starter.start("echo up; sleep 3600")
    job.wait_for_log("up")
    channel = engine.open_channel(job.handles[0], ["sh", "-c", "echo $DANLU_RANK; cat; echo bad >&2; exit 3"], None)
    assert channel.write(b"typed\n") == 6
    assert channel.end_input()
    assert all_of(channel) == (3, b"0\ntyped\nbad\n")
    channel.close()  # once more is quiet
    terminal = engine.open_channel(job.handles[0], ["sh", "-c", "stty size"], TerminalSize(20, 70))
    assert all_of(terminal) == (0, b"20 70\r\n")
    assert job.observe()[0].state is TaskState.RUNNING
    assert job.stop()[0].state is TaskState.STOPPED


def test_a_task_that_ends_takes_its_shells_along(engine: LocalEngine, starter: Starter) -> None:
    job = starter.start(f"echo up; {HOLD}")
    job.wait_for_log("up")
    channel = engine.open_channel(job.handles[0], ["sh", "-c", "echo in; exec sleep 3600"], None)
    assert channel.read(4096) == b"in\n"
    job.let_go()
    assert all_of(channel)[0] == 128 + signal.SIGHUP
    assert job.wait()[0].state is TaskState.SUCCEEDED
    with pytest.raises(WrongState):
        engine.open_channel(job.handles[0], ["true"], None)


def test_a_long_path_is_no_problem(tmp_path: Path) -> None:
    """The name of a socket has 107 bytes at most."""
    folder = tmp_path.joinpath(*("a-long-name-of-a-folder" for _ in range(6)))
    engine = LocalEngine(EngineSettings(work_dir=folder / "work", server_id="test"))
    starter = Starter(engine)
    try:
        job = starter.start("echo up; sleep 3600")
        job.wait_for_log("up")
        assert all_of(engine.open_channel(job.handles[0], ["echo", "in"], None)) == (0, b"in\n")
    finally:
        starter.clean_up()
        shutil.rmtree(folder, ignore_errors=True)
    assert os.path.isdir(tmp_path)
