"""The part of Fabric's API that `colossalai run` uses, on top of the agents of the job's tasks; needs no sshd or keys.

Shipped with the job, in a folder that comes first in PYTHONPATH, where it replaces Fabric.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Optional

RSH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "danlu", "node", "mpi", "rsh.py")


class Result(NamedTuple):
    command: str
    return_code: int


class Connection:
    """Runs commands in another task, given by host name or address."""

    def __init__(self, host: str, user: Optional[str] = None, port: Optional[int] = None, **_more: object) -> None:
        self.host, self.user, self.port = host, user, port
        self._before: list[str] = []

    @contextmanager
    def cd(self, path: str) -> Iterator[None]:
        with self.prefix(f'cd "{path}"'):
            yield

    @contextmanager
    def prefix(self, command: str) -> Iterator[None]:
        """Run this before every command. Exports are skipped: every task has its own environment."""
        before = self._before
        self._before = before if command.startswith("export ") else [*before, command]
        try:
            yield
        finally:
            self._before = before

    def run(self, command: str, **_how: object) -> Result:
        """Run a command in the other task. Raise RuntimeError when it fails."""
        return self._wait([sys.executable, "-I", "-S", RSH, "run", self.host, self._line(command)], command)

    def local(self, command: str, **_how: object) -> Result:
        """Run a command here. Raise RuntimeError when it fails."""
        return self._wait(["/bin/sh", "-c", self._line(command)], command)

    def close(self) -> None:
        """Does nothing: no connection is kept open."""

    def _line(self, command: str) -> str:
        return " && ".join([*self._before, command])

    def _wait(self, words: list[str], command: str) -> Result:
        code = subprocess.run(words, stdin=subprocess.DEVNULL, check=False).returncode
        if code != 0:
            raise RuntimeError(f"{command!r} ended with code {code} on {self.host}")
        return Result(command, code)
