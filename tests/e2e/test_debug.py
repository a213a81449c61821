"""Debug jobs and shells in running tasks, through a real server."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from danlu.client import Client
from danlu.client.jobs.job import Job
from danlu.client.jobs.terminals import Size
from danlu.errors import DanluError, WrongState
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import HANG_SECONDS, wait_until


@pytest.fixture(scope="module")
def waiting(server: RunningServer) -> Iterator[Job]:
    """A debug job of two tasks that is ready."""
    with server.client() as client:
        job = client.jobs.submit(
            name="waits",
            debug=True,
            nodes=2,
            launch="ddp",
            setup="export FROM_SETUP=yes; touch ready",
            command="echo never; exit 3",
            secrets={"TOKEN": "hunter2"},
        )
        lines = (line.text for line in job.logs(follow=True))
        told = [next(lines), next(lines)]
        assert sorted(told) == [
            f"Everything is ready, and the command is not started: danlu shell {job.id} --rank {rank}"
            for rank in (0, 1)
        ]
        assert job.refresh().state is JobState.RUNNING
        yield job
        job.stop()
        assert job.wait().state is JobState.STOPPED


def run(job: Job, *command: str, rank: int = 0, typed: bytes | None = None) -> tuple[int | None, str]:
    with job.terminal(rank, command=command) as terminal:
        if typed is not None:
            terminal.write(typed)
            terminal.write(b"")
        said = b"".join(terminal.output())
    return terminal.exit_code, said.decode()


class TestExec:
    def test_it_is_where_the_command_would_have_been(self, waiting: Job) -> None:
        code, said = run(waiting, "sh", "-c", "ls; echo $RANK $FROM_SETUP $TOKEN $(id -un) $(hostname); exit 5", rank=1)
        assert (code, said.split()) == (5, ["ready", "1", "yes", "hunter2", "danlu", f"{waiting.id}-worker-1"])

    def test_input_reaches_it(self, waiting: Job) -> None:
        assert run(waiting, "sort", typed=b"b\na\n") == (0, "a\nb\n")

    def test_more_than_a_buffer_full_comes_out_whole(self, waiting: Job) -> None:
        code, said = run(waiting, "seq", "400000")
        assert code == 0
        assert said == "".join(f"{number}\n" for number in range(1, 400001))

    def test_a_command_that_is_not_there(self, waiting: Job) -> None:
        assert run(waiting, "no-such-thing") == (127, "danlu: no-such-thing: No such file or directory\r\n")

    def test_a_signal_has_the_shells_code(self, waiting: Job) -> None:
        assert run(waiting, "sh", "-c", "kill -9 $$") == (128 + signal.SIGKILL, "")

    def test_what_it_leaves_does_not_end_the_job(self, waiting: Job) -> None:
        assert run(waiting, "sh", "-c", "sleep 0.1 & exit 0")[0] == 0
        assert waiting.refresh().state is JobState.RUNNING

    def test_who_goes_in_is_noted(self, waiting: Job, client: Client) -> None:
        run(waiting, "true", rank=1)
        entered = next(event for event in client.audit(action="job.enter") if event.object == f"job/{waiting.id}")
        assert (entered.actor, entered.details) == ("admin", {"rank": 1})

    def test_there_is_no_third_task(self, waiting: Job) -> None:
        with pytest.raises(WrongState, match="it has ranks 0 to 1"):
            waiting.terminal(2)


class TestTerminal:
    def test_it_has_a_terminal_of_the_asked_size(self, waiting: Job) -> None:
        with waiting.terminal(size=Size(rows=30, columns=100)) as terminal:
            output = terminal.output()
            terminal.write(b"PS1=; stty size; tty | cut -c1-8\n")
            wait_for(output, b"30 100")
            terminal.resize(Size(rows=40, columns=120))
            terminal.write(b"stty size; exit 4\n")
            wait_for(output, b"40 120")
            assert b"" not in output
        assert terminal.exit_code == 4

    def test_hanging_up_ends_what_runs_in_it(self, waiting: Job) -> None:
        with waiting.terminal(size=Size(rows=30, columns=100)) as terminal:
            terminal.write(b"echo my-$((40 + 2)); exec sleep 4242\n")
            wait_for(terminal.output(), b"my-42")
        wait_until(lambda: "sleep 4242" not in run(waiting, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")[1])

    def test_the_commands_of_the_command_line(self, waiting: Job, server: RunningServer) -> None:
        env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key}
        danlu = [sys.executable, "-m", "danlu"]
        done = subprocess.run(
            [*danlu, "exec", waiting.id, "--", "sh", "-c", "cat; exit 6"],
            input=b"hello",
            capture_output=True,
            env=env,
            check=False,
        )
        assert (done.returncode, done.stdout) == (6, b"hello"), done.stderr
        refused = subprocess.run([*danlu, "shell", waiting.id], capture_output=True, env=env, check=False)
        assert (refused.returncode, b"a shell needs a terminal" in refused.stderr) == (1, True)
        pid, ours = pty.fork()
        if pid == 0:
            os.execve(danlu[0], [*danlu, "shell", waiting.id], env)
        os.write(ours, b"echo in-$((6 * 7)); exit 9\n")
        said = b""
        while b"in-42" not in said:
            assert select.select([ours], [], [], HANG_SECONDS)[0], said
            said += os.read(ours, 65536)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
        os.close(ours)


def wait_for(output: Iterator[bytes], wanted: bytes) -> None:
    said = b""
    while wanted not in said:
        said += next(output)


def test_a_task_that_is_over_has_no_shell(client: Client) -> None:
    job = client.jobs.submit(name="over", command="true")
    job.wait()
    with pytest.raises(WrongState, match="a shell can be opened while it is"):
        job.terminal()


def test_an_ordinary_job_can_be_looked_into_and_a_debug_job_ends_at_its_max_duration(client: Client) -> None:
    busy = client.jobs.submit(name="busy", command="echo up; sleep 3600")
    short = client.jobs.submit(name="short", debug=True, command="true", max_duration="1s")
    assert next(line.text for line in busy.logs(follow=True)) == "up"
    assert run(busy, "sh", "-c", "echo $DANLU_JOB_NAME") == (0, "busy\n")
    busy.stop()
    ended = short.wait()
    assert (ended.state, ended.reason.code) == (JobState.FAILED, "max_duration")
    assert busy.wait().state is JobState.STOPPED


def test_a_job_that_does_not_run_yet_is_waited_for(client: Client, server: RunningServer) -> None:
    job = client.jobs.submit(name="later", command="sleep 3600").pause()
    wait_until(lambda: job.refresh().state is JobState.PAUSED)
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key}
    command = [sys.executable, "-m", "danlu", "exec", job.id, "--", "echo", "inside"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, env=env) as waits:
        assert waits.stdout is not None
        assert waits.stderr is not None
        assert f"{job.id} paused" in waits.stderr.readline().decode()
        job.resume()
        assert waits.stdout.read() == b"inside\n"
    assert waits.returncode == 0
    job.stop()


def test_an_open_shell_does_not_hold_up_a_stop(client: Client) -> None:
    job = client.jobs.submit(name="left", debug=True, command="true", grace="1h")
    next(job.logs(follow=True))
    with job.terminal(size=Size(rows=30, columns=100)) as terminal:
        output = terminal.output()
        terminal.write(b"echo my-$((40 + 2))\n")
        wait_for(output, b"my-42")
        job.stop()
        assert job.wait().state is JobState.STOPPED
        list(output)
    assert terminal.exit_code == 128 + signal.SIGHUP


def test_a_closed_shell_is_gone(waiting: Job) -> None:
    with waiting.terminal(command=["cat"]) as terminal:
        path = terminal._path
    with pytest.raises(DanluError, match="no open shell"):
        waiting._http.send("GET", f"{path}/output")
