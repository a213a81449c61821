"""Run commands in the other tasks of a job, without sshd: mpirun starts its daemons with this.

    python3 -I -S rsh.py launch -- COMMAND...   become the command, with an agent in the background
    python3 -I -S rsh.py serve                  be the agent of a task that waits for others
    danlu-rsh HOST COMMAND...                   run a shell line there (a script that calls `rsh.py run`)

Shipped with the job (this file, rsh_agent.py and rsh_wire.py). Its settings are in rsh.json in the same folder:

    {"token": "/opt/ml/input/config/token", "listen": ["10.88.0.1", 2222], "names": ["danlu-rsh"],
     "hosts": {"10.88.0.2": ["10.88.0.2", 2222], "train-1-worker-0": ["10.88.0.2", 2222]}}

When the connection breaks, the command is ended with all its children. Processes that it left behind when it ended by
itself keep running: mpirun's daemons detach themselves.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any, NoReturn, Optional

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.mpi.rsh_agent import Agent, wake_up_pipe
from danlu.node.mpi.rsh_wire import CHUNK, HANDSHAKE_SECONDS, Stranger, frame, frames, prove_to_agent

FOLDER = os.path.abspath(os.path.join(__file__, "../../../.."))
PATIENCE_SECONDS = 600.0
"""How long to wait for a task that has not started yet: it may still fetch its inputs."""

SAY_SECONDS, RETRY_SECONDS = 15.0, 0.1
LOST = 255
NAME = b"danlu-rsh"
SSH_OPTIONS_WITH_VALUE = "BbcDEeFIiJLlmOopQRSWw"
FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def run(config: dict[str, Any], host: str, command: str) -> int:
    """Run a shell line in another task, forwarding input, output and signals; return its exit code."""
    if host not in config["hosts"]:
        _say(f"no task of this job is called {host!r}; known: {', '.join(sorted(config['hosts']))}")
        return LOST
    ctypes.CDLL(None).prctl(15, NAME, 0, 0, 0)  # PR_SET_NAME: a stop of the job spares processes with this name
    woken = wake_up_pipe()
    connection = _connect(tuple(config["hosts"][host]), host)
    if connection is None:
        return LOST
    try:
        prove_to_agent(connection, _token(config))
        connection.sendall(frame(b"C", json.dumps({"command": command}).encode()))
    except (Stranger, OSError) as error:
        _say(f"{host} rejects commands from this task: {error or type(error).__name__}")
        return LOST
    for number in FORWARDED:
        signal.signal(number, lambda *_: None)
    try:
        code = _copy_here(connection, woken)
    except OSError as error:
        _say(f"the connection to {host} broke: {error}")
        return LOST
    if code is None:
        _say(f"the connection to {host} was lost")
    return LOST if code is None else code


def _connect(address: tuple[str, int], host: str) -> Optional[socket.socket]:
    began = time.monotonic()
    say_at = began + SAY_SECONDS
    while True:
        try:
            connection = socket.create_connection(address, timeout=HANDSHAKE_SECONDS)
        except OSError as error:
            now = time.monotonic()
            if now - began > PATIENCE_SECONDS:
                _say(f"{host} cannot be reached: {error}")
                return None
            if now > say_at:
                _say(f"waiting for {host}")
                say_at = now + SAY_SECONDS
            time.sleep(RETRY_SECONDS)
            continue
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def _copy_here(connection: socket.socket, woken: int) -> Optional[int]:
    """Copy until the exit code arrives; None when the connection ends before that.

    Sends without blocking: if both sides blocked on a full connection, neither would read.
    """
    connection.setblocking(False)
    received = unsent = b""
    has_input = True
    while True:
        sources: list[Any] = [connection, woken, *([0] if has_input and not unsent else [])]
        ready, free, _ = select.select(sources, [connection] if unsent else [], [])
        if woken in ready:
            unsent += b"".join(frame(b"S", bytes([number])) for number in os.read(woken, 256))
        if 0 in ready:
            piece = _read_input()
            has_input = bool(piece)
            unsent += frame(b"I" if piece else b"E", piece)
        if free:
            unsent = unsent[connection.send(unsent) :]
        if connection in ready:
            piece = connection.recv(CHUNK)
            if not piece:
                return None
            complete, received = frames(received + piece)
            for kind, body in complete:
                if kind == b"X":
                    return body[0]
                _write(2 if kind == b"R" else 1, body)


def _read_input() -> bytes:
    try:
        return os.read(0, CHUNK)
    except OSError:
        return b""


def host_and_command(words: list[str]) -> tuple[str, str]:
    """Parse `[ssh options] [user@]HOST COMMAND...`; callers of ssh pass options. Raise ValueError."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if len(option) == 2 and option[1] in SSH_OPTIONS_WITH_VALUE and rest:
            rest.pop(0)
    host, *command = rest or [""]
    if command[:1] == ["--"]:
        command.pop(0)
    if not command:
        raise ValueError("expected danlu-rsh HOST COMMAND...; there is no terminal to open")
    return host.rpartition("@")[2], " ".join(command)


def _launch(listener: socket.socket, token: bytes, command: list[str]) -> NoReturn:
    """Start an agent in the background, detached so that the command has no unexpected child, and become the
    command."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            Agent(listener, token).run()
        os._exit(0)
    os.waitpid(child, 0)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        _say(f"{command[0]}: {error.strerror}")
        os._exit(126 if isinstance(error, PermissionError) else 127)


def _token(config: dict[str, Any]) -> bytes:
    with open(config["token"], "rb") as file:
        return file.read()


def _install(folder: str, names: list[str]) -> None:
    """Install the client into this task's PATH under its names."""
    os.makedirs(folder, exist_ok=True)
    for name in names:
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(f'#!/bin/sh\nexec python3 -I -S {_program(name)} "$@"\n')
        os.chmod(path, 0o755)
    os.environ["PATH"] = f"{folder}:{os.environ.get('PATH', os.defpath)}"


def _program(name: str) -> str:
    """Return the program behind a name: the client, or pdsh, which calls the client for each host."""
    own = os.path.abspath(__file__)
    return f'"{os.path.join(os.path.dirname(own), "pdsh.py")}"' if name == "pdsh" else f'"{own}" run'


def _write(descriptor: int, body: bytes) -> None:
    while body:
        body = body[os.write(descriptor, body) :]


def _say(text: str) -> None:
    print(f"danlu-rsh: {text}", file=sys.stderr, flush=True)


def main() -> int:
    with open(os.path.join(FOLDER, "rsh.json"), encoding="utf-8") as file:
        config = json.load(file)
    way, *words = sys.argv[1:] or [""]
    if way == "run":
        try:
            host, command = host_and_command(words)
        except ValueError as error:
            _say(str(error))
            return LOST
        return run(config, host, command)
    address, port = config["listen"]
    try:
        listener = socket.create_server((address, port), backlog=256)
    except OSError as error:
        _say(f"cannot listen on {address}:{port}: {error.strerror}")
        return 1
    _install(os.path.join(FOLDER, "bin"), config["names"])
    if way == "launch":
        _launch(listener, _token(config), words[1:])
    Agent(listener, _token(config)).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
