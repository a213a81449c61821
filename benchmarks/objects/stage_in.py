"""Time that a job waits for its inputs: only the staging, as reported in the stager's log.

Alternates with plain obstore, which fetches the same bytes from the same service to a folder.
"""

from __future__ import annotations

import re
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from danlu.client import Client
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

WAIT_SECONDS = 600.0
_FETCHED = re.compile(r"inputs fetched in ([\d.]+) s")

Peer = Callable[[Path], float]
"""Fetches the same to a new path; returns the seconds."""


def compare(server: RunningServer, source: str, peer: Peer, *, folder: Path, rounds: int) -> tuple[float, float]:
    """Medians of ours and of the peer, in seconds."""
    ours, theirs = [], []
    for number in range(rounds):
        target = folder / f"peer-{number}"
        theirs.append(peer(target))
        shutil.rmtree(target) if target.is_dir() else target.unlink()
        with server.client() as client:
            ours.append(_stage_in(server, client, source))
        print(f"round {number}: stage-in of {source} {ours[-1]:.2f} s, obstore alone {theirs[-1]:.2f} s")
    return statistics.median(ours), statistics.median(theirs)


def _stage_in(server: RunningServer, client: Client, source: str) -> float:
    """Run a job with this input; return the staging time from its stager's log."""
    job = client.jobs.submit(name="stage-in", command="sleep 600", data={source: "input"})
    deadline = time.monotonic() + WAIT_SECONDS
    for seen in job.watch(deadline):
        if seen.state is JobState.RUNNING or seen.is_over:
            break
    logs = (server.data_dir / "work").rglob(f"{job.id}/**/stager.log")
    found = [float(seconds) for log in logs for seconds in _FETCHED.findall(log.read_text())]
    if len(found) != 1:
        raise RuntimeError(f"{job.id} is {job.state}: {job.reason.message}; its stager said {found}")
    job.stop()
    job.wait(timeout=WAIT_SECONDS)
    job.delete()
    return found[0]
