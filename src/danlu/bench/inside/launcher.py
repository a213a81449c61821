"""Start the processes of one task, and end them all when one fails. The rank that failed first is recorded."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

from danlu.bench.inside.place import (
    SINGLE_SERVER,
    Place,
    places_of_node,
    read_options,
    results_folder,
    write_whole,
)
from danlu.bench.inside.process import RANK

GRACE_SECONDS = 5.0


def run_node(work: str) -> int:
    """Run all processes of this task; return the exit code of the one that failed first, or 0."""
    places = places_of_node(os.environ, str(read_options()["mode"]))
    with _own_port() as port:
        running = {_start(work, place, port): place for place in places}
        return _wait_for_all(running)


def _wait_for_all(running: dict[subprocess.Popen[bytes], Place]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: _signal(running, signal.SIGTERM))
    while running:
        process, code = _next_end(running)
        place = running.pop(process)
        if code != 0:
            if code != -signal.SIGTERM:  # not by SIGTERM: another rank failed, or the job was stopped
                _tell(place, code)
            _end(running)
            return code if code > 0 else 128 - code
    return 0


@contextmanager
def _own_port() -> Iterator[int]:
    """A port that the system gives to nobody else meanwhile. The processes can listen on it, as PyTorch does, because
    this socket does not listen and may share its address."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("", 0))
        yield held.getsockname()[1]


def _start(work: str, place: Place, port: int) -> subprocess.Popen[bytes]:
    env = {
        **os.environ,
        RANK: str(place.rank),
        "RANK": str(place.group_rank),
        "WORLD_SIZE": str(place.group_size),
        "LOCAL_RANK": str(place.local_rank),
        "LOCAL_WORLD_SIZE": str(place.per_server),
    }
    if place.mode == SINGLE_SERVER:
        # not that of the attempt: tasks may share a machine, and train apart
        env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    env.setdefault("OMP_NUM_THREADS", "1")
    return subprocess.Popen([sys.executable, "-m", "danlu.bench.inside", work], env=env)


def _next_end(running: dict[subprocess.Popen[bytes], Place]) -> tuple[subprocess.Popen[bytes], int]:
    """Wait until a process has ended."""
    by_pid = {process.pid: process for process in running}
    while True:
        pid, status = os.wait()
        if pid in by_pid:
            code = os.waitstatus_to_exitcode(status)
            by_pid[pid].returncode = code
            return by_pid[pid], code


def _tell(place: Place, code: int) -> None:
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    sys.stderr.write(f"bench: rank {place.rank} {how}\n")
    content = {"rank": place.rank, "server": place.server, "node": os.environ["DANLU_NODE"], "how": how}
    write_whole(os.path.join(results_folder(), f"failed-{place.rank}.json"), {**content, "attempt": _attempt()})


def _attempt() -> int:
    return int(os.environ["DANLU_ATTEMPT"])


def _end(running: dict[subprocess.Popen[bytes], Place]) -> None:
    _signal(running, signal.SIGTERM)
    for process in running:
        if _wait(process) is None:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes]) -> Optional[int]:
    try:
        return process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _signal(running: dict[subprocess.Popen[bytes], Place], number: signal.Signals) -> None:
    for process in running:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
