"""`kill -9` of the server while jobs run: they go on, are found again, and nothing of them is lost."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.usage import num_looks

from danlu.client import Job
from danlu.spec.states import JobState
from danlu.testing.gates import HOLD
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

# writes 50 MB of numbered lines: a fifth before the kill, most without a server, a fifth with the next one
STREAM = """
import os, sys, time
line = 0
for block in range(500):
    gate = {100: "go", 400: "again"}.get(block)
    while gate and not os.path.exists(gate):
        time.sleep(0.05)
    lines = []
    for _ in range(1000):
        lines.append(f"{line:08d} " + "x" * 90 + "\\n")
        line += 1
    sys.stdout.write("".join(lines)); sys.stdout.flush()
"""
LINES, LINE_BYTES = 500_000, 100


def expected_digest() -> str:
    digest = hashlib.sha256()
    for line in range(LINES):
        digest.update(f"{line:08d} {'x' * 90}\n".encode())
    return digest.hexdigest()


def test_jobs_survive_the_server(make_server: Callable[..., RunningServer], tmp_path: Path) -> None:
    server = make_server("--simulate", "npu:4")
    with server.client() as client:
        code = tmp_path / "code"
        code.mkdir()
        (code / "stream.py").write_text(STREAM)
        device = {"device": "npu:1"}
        chatty = client.jobs.submit(
            name="chatty", command="python3 stream.py", code={"path": str(code)}, resources=device
        )
        short = client.jobs.submit(name="short", command=f"{HOLD}; echo over; exit 3", resources=device)
        long = client.jobs.submit(name="long", command=f"echo begun; {HOLD}; echo over", nodes=2, resources=device)
        for job in (chatty, short, long):
            wait_until(lambda job=job: job.refresh().state is JobState.RUNNING)  # type: ignore[misc]
        work = server.data_dir / "work"
        wait_until(lambda: num_looks(work / long.id / "1/1"))
    server.kill()
    killed_at = time.time()
    # while nobody looks one goes on, one ends, and one is measured
    server.let_go(chatty.id)
    server.let_go(short.id)
    wait_until(lambda: (work / chatty.id / "1/0/log").stat().st_size >= 400_000 * LINE_BYTES)
    wait_until((work / short.id / "1/0/exit.json").exists)
    num_before = num_looks(work / long.id / "1/1")
    wait_until(lambda: num_looks(work / long.id / "1/1") >= num_before + 2)
    started_at = time.time()
    server.start()
    (work / chatty.id / "1/0/ml/code/again").touch()
    for rank in range(2):
        server.let_go(long.id, rank=rank)
    with server.client() as client:
        jobs = {job.id: client.jobs.get(job.id).wait() for job in (chatty, short, long)}
        assert {job.name: job.state for job in jobs.values()} == {
            "chatty": JobState.SUCCEEDED,
            "short": JobState.FAILED,
            "long": JobState.SUCCEEDED,
        }
        assert [job.details.attempt for job in jobs.values()] == [1, 1, 1]
        assert jobs[short.id].details.attempts[0].tasks[0].exit_code == 3
        assert log_digest(jobs[chatty.id]) == expected_digest()
        use = jobs[long.id].usage()
        assert [task.rank for task in use.tasks] == [0, 1]
        assert all(None not in task.lines["cpu"].mean for task in use.tasks), "the time without a server was measured"
        assert use.at[0] <= killed_at < started_at <= use.at[-1]
        assert [device.job for node in client.nodes() for device in node.devices] == [None] * 4
    assert processes_of(chatty.id, short.id, long.id) == []


def test_a_submitted_job_is_not_lost_by_a_kill_right_after(make_server: Callable[..., RunningServer]) -> None:
    server = make_server()
    with server.client() as client:
        ids = [client.jobs.submit(name=f"quick-{k}", command="echo here").id for k in range(3)]
    server.kill()
    server.start()
    with server.client() as client:
        for job_id in ids:
            job = client.jobs.get(job_id).wait()
            assert (job.state, job.details.attempt) == (JobState.SUCCEEDED, 1)
            assert [line.text.strip() for line in job.logs()] == ["here"]


def log_digest(job: Job) -> str:
    digest = hashlib.sha256()
    for piece in job.raw_log(0):
        digest.update(piece)
    return digest.hexdigest()


def processes_of(*job_ids: str) -> list[str]:
    """Processes on this machine whose command line or environment names one of the jobs."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            told = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if any(job_id.encode() in told for job_id in job_ids):
            found.append(f"{folder.name}: {(folder / 'cmdline').read_bytes()!r}")
    return found
