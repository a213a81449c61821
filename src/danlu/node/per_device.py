"""Start a command once per device of a node, and end all of these processes when one fails.

    python3 -I per_device.py PROCESSES.json -- COMMAND...

    {"kill_after_seconds": 15.0, "processes": [{"rank": 0, "log": "/.../rank-0.txt", "env": {"RANK_ID": "0"}}, ...]}

A single file without dependencies, shipped with the job. Output goes to the task's log, each line prefixed with its
rank, and to one file per process. The first nonzero exit code becomes that of the node; the other processes get
SIGTERM, and SIGKILL when they take too long. A SIGTERM from outside reaches all processes of a task, so it is not
forwarded.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Any, Optional

POLL_SECONDS = 0.05
LAST_LINES_SECONDS = 2.0
"""How long to wait for the rest of the output of an ended process whose children may still hold the pipe open."""

LONGEST_LINE_BYTES = 1 << 16


class Running:
    """One process of the node, and the thread that copies its output."""

    def __init__(self, description: dict[str, Any], command: list[str], screen: threading.Lock) -> None:
        self.rank = int(description["rank"])
        self._screen = screen
        os.makedirs(os.path.dirname(description["log"]), exist_ok=True)
        self._log = open(description["log"], "ab", buffering=0)  # noqa: SIM115 closed by its thread
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **description["env"]},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._copying = threading.Thread(target=self._copy, args=(self._process.stdout,), daemon=True)
        self._copying.start()

    def exit_code(self) -> Optional[int]:
        """None while it runs; 128 + n when it was killed by signal n."""
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    def send(self, number: signal.Signals) -> None:
        """Signal the process and its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def finish_log(self) -> None:
        self._copying.join(LAST_LINES_SECONDS)

    def _copy(self, output: IO[bytes]) -> None:
        prefix = b"[rank %d] " % self.rank
        with self._log:
            for line in iter(lambda: output.readline(LONGEST_LINE_BYTES), b""):
                with contextlib.suppress(OSError):  # a full disk must not stop the process
                    self._log.write(line)
                with self._screen, contextlib.suppress(OSError):
                    _write(prefix + line if line.endswith(b"\n") else prefix + line + b"\n")


def run(description: dict[str, Any], command: list[str]) -> int:
    """Run all processes. Return the exit code of the node."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    screen = threading.Lock()
    running: list[Running] = []
    try:
        for each in description["processes"]:
            running.append(Running(each, command, screen))
    except OSError as error:
        _say(f"{error.filename or command[0]}: {error.strerror}")
        _end(running, kill_after_seconds=0.0)
        return 126 if isinstance(error, PermissionError) else 127
    failed = _wait(running)
    if failed is not None and not stopped.is_set():
        _say(f"rank {failed.rank} ended with {failed.exit_code()}; the other processes of this node are ended")
        _end(running, kill_after_seconds=float(description["kill_after_seconds"]))
    while any(process.exit_code() is None for process in running):
        time.sleep(POLL_SECONDS)
    for process in running:
        process.finish_log()
    return 0 if failed is None else failed.exit_code() or 0


def _wait(running: list[Running]) -> Optional[Running]:
    """Return the first process that failed; None when all succeeded."""
    while True:
        codes = [process.exit_code() for process in running]
        failed = [process for process, code in zip(running, codes) if code]
        if failed:
            return failed[0]
        if None not in codes:
            return None
        time.sleep(POLL_SECONDS)


def _end(running: list[Running], *, kill_after_seconds: float) -> None:
    left = [process for process in running if process.exit_code() is None]
    for process in left:
        process.send(signal.SIGTERM)
    kill_at = time.monotonic() + kill_after_seconds
    while time.monotonic() < kill_at and any(process.exit_code() is None for process in left):
        time.sleep(POLL_SECONDS)
    for process in left:
        process.send(signal.SIGKILL)


def _say(text: str) -> None:
    _write(f"danlu: {text}\n".encode())


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def main() -> int:
    path, dashes, *command = sys.argv[1:]
    if dashes != "--" or not command:
        _say("usage: per_device.py PROCESSES.json -- COMMAND...")
        return 2
    with open(path, encoding="utf-8") as file:
        return run(json.load(file), command)


if __name__ == "__main__":
    sys.exit(main())
