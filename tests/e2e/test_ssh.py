"""OpenSSH's own programs into running jobs."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncssh
import httpx
import pytest
from tests.support.endpoints import APP, digest_of, pieces, start_app
from tests.support.ssh import Ssh, call

from danlu.client.jobs.job import Job
from danlu.gateway.ssh.server import MAX_SESSIONS
from danlu.testing.ports import free_port
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import HANG_SECONDS, wait_until

LARGE_BYTES = 50 << 20
EDITOR_PORT = 45673


@pytest.fixture(scope="module")
def job(server: RunningServer) -> Iterator[Job]:
    if not all(shutil.which(word) for word in ("ssh", "scp", "sftp", "rsync")):
        pytest.skip("OpenSSH or rsync is not installed; scripts/system-packages.sh tests installs them")
    with server.client() as client:
        made = start_app(client)
        yield made
        made.stop()


@pytest.fixture(scope="module")
def ssh(server: RunningServer, job: Job, tmp_path_factory: pytest.TempPathFactory) -> Ssh:
    made = Ssh(tmp_path_factory.mktemp("ssh"), server)
    with server.client() as client:
        client.ssh_keys.add(made.public_key, name="laptop")
    return made


def test_a_command_has_its_own_output_errors_and_exit_code(ssh: Ssh, job: Job) -> None:
    done = ssh.run(job.id, "echo $DANLU_JOB_ID; echo bad >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, f"{job.id}\n".encode(), b"bad\n")
    assert ssh.run(f"{job.id}.0", "cat", data=b"typed").stdout == b"typed"


def test_much_passes_both_ways(ssh: Ssh, job: Job) -> None:
    done = ssh.run(job.id, "cat", data=b"".join(pieces(LARGE_BYTES)))
    assert hashlib.sha256(done.stdout).hexdigest() == digest_of(LARGE_BYTES)


def test_a_terminal_has_the_size_of_the_window_and_follows_it(ssh: Ssh, job: Job) -> None:
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    script = "stty size; trap 'stty size; exit 4' WINCH; echo ready; while :; do sleep 0.05; done"
    argv = ssh.argv(job.id, script, options=["-tt"])
    running = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    seen = b""
    while b"ready" not in seen:
        seen += os.read(ours, 4096)
    assert b"33 77" in seen
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 99, 0, 0))
    running.send_signal(signal.SIGWINCH)  # the kernel tells only those in the terminal's foreground
    while b"44 99" not in seen:
        seen += os.read(ours, 4096)
    assert running.wait(HANG_SECONDS) == 4
    os.close(ours)


def test_scp_sftp_and_rsync_move_files_as_the_user_of_the_job(ssh: Ssh, job: Job, tmp_path: Path) -> None:
    sent, back = tmp_path / "sent", tmp_path / "back"
    sent.write_bytes(b"".join(pieces(LARGE_BYTES)))
    at, config = f"{job.id}@job", str(ssh.config)
    for argv, data in (
        (["scp", "-F", config, str(sent), f"{at}:/tmp/by-scp"], b""),
        (["sftp", "-F", config, "-b", "-", at], f"put {sent} /tmp/by-sftp\n".encode()),
        (["rsync", "-a", "-e", f"ssh -F {config}", str(sent), f"{at}:/tmp/by-rsync"], b""),
        (["scp", "-F", config, f"{at}:/tmp/by-scp", str(back)], b""),
    ):
        done = call(argv, data)
        assert done.returncode == 0, done.stderr
    told = ssh.run(job.id, "sha256sum /tmp/by-*; stat -c %U /tmp/by-scp; id -un").stdout.decode().split()
    assert told[0:6:2] == [digest_of(LARGE_BYTES)] * 3
    assert told[6] == told[7]
    assert hashlib.sha256(back.read_bytes()).hexdigest() == digest_of(LARGE_BYTES)


def test_a_port_of_the_job_is_forwarded(ssh: Ssh, job: Job) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        here = listener.getsockname()[1]
    running = subprocess.Popen(ssh.argv(job.id, options=["-N", "-L", f"{here}:localhost:8080"]))
    try:
        assert wait_until(lambda: _get(here, "/x")) == b'{"path": "/x"}'
    finally:
        running.terminate()
        running.wait()


def test_the_steps_of_an_editor_that_works_remotely(ssh: Ssh, job: Job, tmp_path: Path) -> None:
    """VS Code's: a script on the input of a shell, a server by scp, and its port through one open connection."""
    with _open_connection(ssh, job) as shared:
        # it asks what machine this is with a script on the input of `bash`, without a terminal
        script = b"uname -s; mkdir -p $TMPDIR/.vscode-server; echo $TMPDIR/.vscode-server\n"
        asked = ssh.run(job.id, "bash", options=[*shared, "-T"], data=script)
        system, home = asked.stdout.decode().split()
        assert system == "Linux", asked.stderr
        # it sends a server, starts it so that it outlives the command, and reads its port from what it writes
        sent = call(["scp", "-F", str(ssh.config), *shared, str(APP), f"{job.id}@job:{home}/server.py"])
        assert sent.returncode == 0, sent.stderr
        start = (
            f"cd {home} && (setsid python3 server.py {EDITOR_PORT} >log 2>&1 </dev/null & echo $! >pid)\n"
            f"until grep -q listens log; do sleep 0.05; done; echo listeningOn={EDITOR_PORT}\n"
        )
        begun = ssh.run(job.id, "bash -s", options=[*shared, "-T"], data=start.encode())
        assert begun.stdout == f"listeningOn={EDITOR_PORT}\n".encode(), begun.stderr
        # it speaks to that port through a SOCKS proxy, and through forwards that it adds to the connection later
        for way, to, get in (("-D", "", _get_by_socks), ("-L", f":127.0.0.1:{EDITOR_PORT}", _get)):
            here = free_port()
            added = call(ssh.argv(job.id, options=[*shared, "-O", "forward", way, f"127.0.0.1:{here}{to}"]))
            assert added.returncode == 0, added.stderr
            assert get(here, "/x") == b'{"path": "/x"}', way
    alive = ssh.run(job.id, f"kill $(cat {home}/pid) && echo was alive")
    assert alive.stdout == b"was alive\n", "a connection that ends takes nothing with it"


@contextmanager
def _open_connection(ssh: Ssh, job: Job) -> Iterator[list[str]]:
    """The options by which commands share one connection."""
    with tempfile.TemporaryDirectory(prefix="ssh") as folder:  # the path of a socket is short
        shared = ["-o", f"ControlPath={folder}/s"]
        argv = ssh.argv(job.id, options=[*shared, "-M", "-N"])
        with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as running:
            wait_until(lambda: call(ssh.argv(job.id, options=[*shared, "-O", "check"])).returncode == 0)
            yield shared
            running.terminate()


def test_the_command_line_knows_the_way(ssh: Ssh, job: Job, server: RunningServer, tmp_path: Path) -> None:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "danlu", "ssh", job.id, "--print"]
    words = subprocess.run(argv, capture_output=True, text=True, check=True, env=env).stdout.split()
    assert words[-1] == f"{job.id}.0@127.0.0.1"
    done = call([*words[:-1], "-o", "BatchMode=yes", "-i", str(ssh.key), words[-1], "echo", "hello"])
    assert (done.stdout, done.returncode) == (b"hello\n", 0), done.stderr


class TestRefused:
    @pytest.mark.parametrize("user", ["{job}.1", "train-1", "root", "admin", "{job}.0.0", "../{job}"])
    def test_other_names(self, ssh: Ssh, job: Job, user: str) -> None:
        assert b"Permission denied" in ssh.run(user.format(job=job.id), "true").stderr

    def test_an_unknown_key(self, job: Job, server: RunningServer, tmp_path: Path) -> None:
        assert b"Permission denied" in Ssh(tmp_path, server).run(job.id, "true").stderr

    def test_a_password(self, ssh: Ssh, job: Job) -> None:
        done = ssh.run(job.id, "true", options=["-o", "PubkeyAuthentication=no"])
        assert b"Permission denied (publickey)" in done.stderr

    def test_ports_of_hosts(self, ssh: Ssh, job: Job) -> None:
        """Of this one, of the API's door in the gang, of another machine and of a cloud's metadata."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            of_the_host = f"localhost:{listener.getsockname()[1]}"
            for where in (of_the_host, "10.88.255.254:8400", "example.com:80", "169.254.169.254:80", "10.88.0.2:22"):
                done = ssh.run(job.id, options=["-W", where])
                assert done.returncode == 255
                assert b"open failed" in done.stderr, where

    def test_listening_for_others(self, ssh: Ssh, job: Job) -> None:
        done = ssh.run(job.id, options=["-N", "-o", "ExitOnForwardFailure=yes", "-R", "0:localhost:22"])
        assert done.returncode == 255

    def test_more_commands_than_one_connection_may_have(self, ssh: Ssh, job: Job) -> None:
        async def try_it() -> int:
            port = int(ssh.config.read_text().partition("Port ")[2].split()[0])
            keys, known = [str(ssh.key)], None
            async with asyncssh.connect("127.0.0.1", port, username=job.id, client_keys=keys, known_hosts=known) as one:
                opened = []
                for _ in range(MAX_SESSIONS):
                    opened.append(await one.create_process("echo in; cat"))
                    assert await opened[-1].stdout.readline() == "in\n"
                with pytest.raises(asyncssh.ChannelOpenError):
                    await one.create_process("cat")
                return len(opened)

        assert asyncio.run(try_it()) == MAX_SESSIONS

    def test_a_removed_key_ends_what_is_open(self, server: RunningServer, job: Job, tmp_path: Path) -> None:
        guest = Ssh(tmp_path, server)
        with server.client() as client:
            added = client.ssh_keys.add(guest.public_key)
            argv = guest.argv(job.id, "echo in; cat")
            with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
                assert running.stdout is not None
                assert running.stdout.readline() == b"in\n"
                client.ssh_keys.remove(added.id)
                assert running.wait(HANG_SECONDS) == 255
        assert b"Permission denied" in guest.run(job.id, "true").stderr


def _get_by_socks(port: int, path: str) -> bytes:
    """The editor's port on the far side, through a SOCKS 5 proxy here."""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(b"\5\1\0")
        assert sock.recv(2) == b"\5\0"
        sock.sendall(b"\5\1\0\1" + socket.inet_aton("127.0.0.1") + struct.pack("!H", EDITOR_PORT))
        assert sock.recv(10)[:2] == b"\5\0"
        sock.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        with sock.makefile("rb") as answer:
            return answer.read().partition(b"\r\n\r\n")[2]


def _get(port: int, path: str) -> bytes:
    try:
        return httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False).content
    except httpx.TransportError:
        return b""
