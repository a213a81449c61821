"""Forks `danlu up` from a process that has imported all of it, with a database that has all tables: importing and
migrating is most of what a first start takes.

    python -m danlu.testing.preloaded danlu up      for each line of its input: start a server, answer with its pid

    {"words": ["up", "--port", "0"], "env": {"PATH": "/bin"}, "output": "/tmp/data.log", "folder": "/tmp"}

Only tests start servers like this, and only where `turn_on` was called.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

IMPORTED = (
    "anyio._backends._asyncio",
    "danlu.cli.server.up",
    "danlu.engines.local",
    "danlu.server.main",
    "danlu.store.sql.artifact_tables",
    "danlu.store.sql.flow_tables",
    "danlu.store.sql.model_tables",
    "danlu.store.sql.run_tables",
    "obstore.store",
    "psycopg",
    "sqlalchemy.dialects.sqlite",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
)


class Forked:
    """A forked server, with the interface of subprocess.Popen. Its exit code is not known."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._descriptor: int | None
        try:
            self._descriptor = os.pidfd_open(pid)
        except ProcessLookupError:  # it has already ended
            self._descriptor = None

    def poll(self) -> int | None:
        return 0 if self._has_ended(0.0) else None

    def send_signal(self, number: signal.Signals) -> None:
        if self._descriptor is not None:
            signal.pidfd_send_signal(self._descriptor, number)

    def wait(self, timeout: float) -> int:
        if not self._has_ended(timeout):
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return 0

    def _has_ended(self, seconds: float) -> bool:
        if self._descriptor is not None and select.select([self._descriptor], [], [], seconds)[0]:
            os.close(self._descriptor)
            self._descriptor = None
        return self._descriptor is None


class Preloaded:
    """The process that forks servers. It ends with its parent."""

    def __init__(self) -> None:
        # servers that it forks keep its command line
        command = [sys.executable, "-m", __name__, "danlu", "up"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def fork(self, request: dict[str, Any]) -> Forked:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Forked(int(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


_state: dict[str, Preloaded | None] = {}


def turn_on() -> None:
    """Fork all servers that this process starts from now on."""
    _state["preloaded"] = None


def turn_off() -> None:
    preloaded = _state.pop("preloaded", None)
    if preloaded is not None:
        preloaded.close()


def fork(words: list[str], env: dict[str, str], *, output: str) -> Forked | None:
    """Fork a server; None if it needs a new process, because its environment changes what is loaded."""
    is_other = env.get("PYTHONPATH") != os.environ.get("PYTHONPATH")
    if "preloaded" not in _state or "LD_PRELOAD" in env or is_other:
        return None
    preloaded = _state["preloaded"] = _state["preloaded"] or Preloaded()
    return preloaded.fork({"words": words, "env": env, "output": output, "folder": os.getcwd()})


def _next_server() -> dict[str, Any] | None:
    """Fork for each line of the input; return the request in the child, and None at the end of the input."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # exit codes are not needed
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            request: dict[str, Any] = json.loads(line)
            return request
        print(pid, flush=True)
    return None


def _migrated() -> bytes:
    """A SQLite database with all tables."""
    from danlu.store.sql import migrate
    from danlu.store.sql.database import Database, sqlite_url

    with TemporaryDirectory() as folder:
        file = Path(folder, "template.db")
        database = Database(sqlite_url(file))
        migrate.upgrade(database)
        database.close()
        return file.read_bytes()


def _lay_database(words: list[str], template: bytes) -> None:
    """Copy the database to where a first start would create it."""
    folder = Path(words[words.index("--data-dir") + 1]) / "server"
    if not (folder / "danlu.db").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "danlu.db").write_bytes(template)


def _become(request: dict[str, Any]) -> None:
    """Turn this process into `python -m danlu` with these arguments."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(request["output"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(output)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["danlu", *request["words"]]
    _lay_database(request["words"], request["template"])
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    from danlu.cli import main

    main()


if __name__ == "__main__":
    for module in IMPORTED:
        importlib.import_module(module)
    template = _migrated()
    wanted = _next_server()
    if wanted is not None:
        _become({**wanted, "template": template})
