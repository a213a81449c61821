"""A real server in a separate process, for tests, demos and benchmarks."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from danlu.client import Client
from danlu.client.people.keys import parse_link, sign_in
from danlu.testing import preloaded
from danlu.testing.gates import let_go
from danlu.testing.waiting import HANG_SECONDS, wait_until
from danlu.wire.auth import SignIn

_UP = re.compile(r"Danlu is up on (\S+)")
_LINK = re.compile(r"(\S+/signin\?token=\S+)")


class RunningServer:
    """`danlu up` on a free port with its own data folder. It can be killed and started again."""

    def __init__(self, data_dir: Path, *options: str, name: str = "", within: Sequence[str] = ()) -> None:
        """`name`: name of the server, if several share a data folder. `within`: prefix of the command."""
        self.data_dir = data_dir
        self.output = data_dir.parent / f"{data_dir.name}{name}.log"
        self.url = ""
        self.api_key = ""
        self.env: dict[str, str] = {}
        """Additional variables for the next start."""

        self._options = (*options, "--name", name) if name else options
        self._within = tuple(within)
        self._process: subprocess.Popen[bytes] | preloaded.Forked | None = None

    def start(self) -> RunningServer:
        """Start the server, again on the same port after the first time. The first time, sign in and create a key."""
        begun = self.begin()
        self.url = self._wait_for(_UP, begun)
        if not self.api_key:
            link = parse_link(self._wait_for(_LINK, begun))
            self.api_key = sign_in(self.url, SignIn(token=link.token), key_name="testing").api_key
        return self

    def begin(self) -> int:
        """Start the server without waiting until it is up. Return the length of its previous output."""
        port = self.url.rpartition(":")[2] or "0"
        words = ["up", "--port", port, "--data-dir", str(self.data_dir), *self._options]
        # tests must see output at once, even without PYTHONUNBUFFERED
        env = {name: value for name, value in os.environ.items() if not name.startswith(("DANLU_", "PYTHONUNBUF"))}
        env.update(self.env)
        self.output.touch()
        begun = self.output.stat().st_size
        self._process = None if self._within else preloaded.fork(words, env, output=str(self.output))
        if self._process is None:
            with self.output.open("ab") as output:
                command = [*self._within, sys.executable, "-m", "danlu", *words]
                self._process = subprocess.Popen(command, stdout=output, stderr=output, env=env)
        return begun

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def cpu_seconds(self) -> float:
        """CPU time since its last start, which does not depend on the load of the machine."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def let_go(self, job_id: str, *, attempt: int = 1, rank: int = 0) -> None:
        """Let a job pass its HOLD."""
        let_go(self.data_dir / "work", job_id, attempt=attempt, rank=rank)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def client(self) -> Client:
        return Client(url=self.url, api_key=self.api_key)

    def kill(self) -> None:
        """`kill -9`."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def said(self) -> str:
        """All output of the server so far."""
        return self.output.read_text(errors="replace")

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None and self.is_running:
            self._process.send_signal(number)
            self._process.wait(timeout=HANG_SECONDS)

    def _wait_for(self, pattern: re.Pattern[str], begun: int) -> str:
        """Wait for a pattern in the output since `begun`; return its group. Raise RuntimeError if the server ends."""

        def look() -> re.Match[str] | None:
            is_gone = not self.is_running
            found = pattern.search(self.output.read_bytes()[begun:].decode(errors="replace"))
            if found is None and is_gone:
                raise RuntimeError(f"the server did not come up:\n{self.said()[-4000:]}")
            return found

        found = wait_until(look, self.said)
        assert found is not None
        return found.group(1)
