"""Commands in another task: a real agent, real clients, one folder as each would find it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import danlu.node
from danlu.node.mpi.rsh import NAME, host_and_command
from danlu.testing.waiting import wait_until

NODE = Path(danlu.node.__file__).parent
PYTHON = str(Path(sys.executable).resolve())


def lay_out(folder: Path, port: int, token: str = "secret") -> Path:
    """Lay out what a plan brings to a task; return the program."""
    programs = folder / "rsh" / "danlu" / "node" / "mpi"
    programs.mkdir(parents=True)
    for name in ("rsh.py", "rsh_agent.py", "rsh_wire.py"):
        shutil.copy(NODE / "mpi" / name, programs / name)
    (folder / "token").write_text(token)
    config = {"token": str(folder / "token"), "listen": ["127.0.0.1", port], "names": ["danlu-rsh", "ssh"]}
    (folder / "rsh" / "rsh.json").write_text(json.dumps({**config, "hosts": {"other": ["127.0.0.1", port]}}))
    return programs / "rsh.py"


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


@pytest.fixture
def program(tmp_path: Path, port: int) -> Path:
    return lay_out(tmp_path, port)


@pytest.fixture
def agent(program: Path, port: int) -> Iterator[Path]:
    """A task that waits for commands."""
    process = subprocess.Popen([PYTHON, "-I", "-S", program, "serve"], start_new_session=True)
    wait_until(lambda: listens(port))
    yield program
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def listens(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def client(program: Path, *words: str) -> list[str]:
    return [PYTHON, "-I", "-S", str(program), "run", *words]


def ask(program: Path, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(client(program, *words), input=given, capture_output=True, check=False)


def pid_in(path: Path) -> int:
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except FileNotFoundError:
        return ""


def test_output_errors_and_exit_code_come_back(agent: Path) -> None:
    done = ask(agent, "other", "echo", "'two  words'", ";", "echo bad >&2; exit 7")
    assert (done.stdout, done.stderr, done.returncode) == (b"two  words\n", b"bad\n", 7)


def test_a_signal_that_ended_the_command_is_its_code(agent: Path) -> None:
    assert ask(agent, "other", "kill -9 $$").returncode == 137


def test_megabytes_go_through_in_both_directions(agent: Path) -> None:
    given = os.urandom(5_000_000)
    done = ask(agent, "other", "cat", given=given)
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(given).digest()
    assert ask(agent, "other", "sleep 0.3; wc -c", given=given).stdout.strip() == b"5000000"
    assert ask(agent, "other", "head -c 3; exit 4", given=given).returncode == 4
    assert len(ask(agent, "other", "head -c 20000000 /dev/zero; wc -c", given=given).stdout) == 20_000_008


def test_a_signal_for_the_client_reaches_the_command(agent: Path) -> None:
    line = "trap 'echo saved; exit 5' TERM; echo up; while :; do sleep 0.05; done"
    process = subprocess.Popen(client(agent, "other", line), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.terminate()
    assert process.stdout.read() == b"saved\n"
    process.stdout.close()
    assert process.wait() == 5


def test_when_the_client_is_gone_the_whole_tree_is_ended(agent: Path, tmp_path: Path) -> None:
    line = f"""
    setsid sh -c 'echo $$ > {tmp_path}/far; exec sleep 3600' &
    sh -c 'trap "" TERM; echo $$ > {tmp_path}/deaf; while :; do sleep 0.05; done' &
    echo $$ > {tmp_path}/near; wait
    """
    process = subprocess.Popen(client(agent, "other", line), stdin=subprocess.DEVNULL)
    pids = [pid_in(tmp_path / name) for name in ("far", "deaf", "near")]
    process.kill()
    process.wait()
    wait_until(lambda: not any(map(lives, pids)), lambda: [pid for pid in pids if lives(pid)])


def test_what_detached_itself_from_a_command_that_ended_goes_on(agent: Path, tmp_path: Path) -> None:
    line = f"setsid sh -c 'echo $$ > {tmp_path}/daemon; exec sleep 3600' >/dev/null 2>&1 </dev/null & exit 3"
    assert ask(agent, "other", line).returncode == 3
    pid = pid_in(tmp_path / "daemon")
    wait_until(lambda: "rsh.py" not in command_of(parent_of(pid)))  # the agent's part of it is over
    assert lives(pid)
    os.kill(pid, signal.SIGKILL)


def test_output_that_something_left_open_does_not_keep_the_client(agent: Path) -> None:
    left = int(ask(agent, "other", "sleep 3600 & echo $!").stdout)
    assert lives(left)
    os.kill(left, signal.SIGKILL)


def test_who_does_not_know_the_token_runs_nothing(agent: Path, tmp_path: Path, port: int) -> None:
    stranger = lay_out(tmp_path / "stranger", port, token="another")
    done = ask(stranger, "other", f"touch {tmp_path}/was-here")
    assert done.returncode == 255
    assert b"rejects commands from this task" in done.stderr
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(b"GET / HTTP/1.0\r\n\r\n" + b"x" * 100)
        with contextlib.suppress(ConnectionResetError):
            while sock.recv(4096):
                pass
    assert not (tmp_path / "was-here").exists()
    assert ask(agent, "other", "true").returncode == 0


def test_a_client_tells_nothing_to_an_agent_that_does_not_know_the_token(tmp_path: Path) -> None:
    heard = b""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        program = lay_out(tmp_path / "job", listener.getsockname()[1])
        process = subprocess.Popen(client(program, "other", "echo hunter2"), stderr=subprocess.PIPE)
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"danlu-rsh 1\n" + bytes(32))
            heard += connection.recv(4096)
            connection.sendall(bytes(32))
            heard += connection.recv(4096)
        assert process.stderr is not None
        assert b"does not know the token" in process.stderr.read()
        process.stderr.close()
        assert process.wait() == 255
    assert b"hunter2" not in heard
    assert b"secret" not in heard


def test_an_unknown_host_is_named_with_those_that_are_known(program: Path) -> None:
    done = ask(program, "elsewhere", "true")
    assert (done.returncode, done.stderr) == (
        255,
        b"danlu-rsh: no task of this job is called 'elsewhere'; known: other\n",
    )


def test_a_task_that_is_not_up_yet_is_waited_for(program: Path, port: int) -> None:
    asking = subprocess.Popen(client(program, "other", "echo late"), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    wait_until(lambda: Path(f"/proc/{asking.pid}/comm").read_bytes() == NAME + b"\n")  # it is about to connect
    serving = subprocess.Popen([PYTHON, "-I", "-S", program, "serve"], start_new_session=True)
    assert asking.communicate()[0] == b"late\n"
    os.killpg(serving.pid, signal.SIGKILL)
    serving.wait()


def test_the_launcher_becomes_the_command_and_can_be_reached_itself(program: Path, port: int) -> None:
    line = "danlu-rsh other 'echo there; exit 3'; echo $?; ssh -o BatchMode=yes me@other -- echo '$0'; exit 6"
    process = subprocess.Popen(
        [PYTHON, "-I", "-S", program, "launch", "--", "/bin/bash", "-c", line],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    assert lines == [b"there\n", b"3\n", b"/bin/bash\n"]
    assert process.wait() == 6
    assert listens(port)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # the agent has left the command's group
    process.stdout.close()
    ask(program, "other", "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat) $PPID")  # the agent, above the session
    wait_until(lambda: not listens(port))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a", "ls"], ("a", "ls")),
        (["a", "ls", "-l", "x y"], ("a", "ls -l x y")),
        (["-x", "a", "ls"], ("a", "ls")),
        (["-o", "StrictHostKeyChecking=no", "-p", "22", "-q", "root@a", "ls"], ("a", "ls")),
        (["-oBatchMode=yes", "-l", "me", "a", "ls"], ("a", "ls")),
    ],
)
def test_options_of_ssh_are_passed_over(words: list[str], expected: tuple[str, str]) -> None:
    assert host_and_command(words) == expected


@pytest.mark.parametrize("words", [[], ["a"], ["-p", "22", "a"]])
def test_without_a_command_there_is_nothing_to_do(words: list[str]) -> None:
    with pytest.raises(ValueError, match="HOST COMMAND"):
        host_and_command(words)
