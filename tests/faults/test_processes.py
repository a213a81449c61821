"""Processes that are killed, and processes that do not want to end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from danlu.client import Job
from danlu.spec.states import AttemptState, JobState
from danlu.testing.footprint import Footprint
from danlu.testing.invariants import check_always, check_at_rest
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

TREE = """
for k in $(seq 40); do sleep 3600 & done
(setsid sh -c 'trap "" TERM HUP; sleep 3600; sleep 3600' &)
echo ready
wait
"""
"""Forty children, and a grandchild that has left its session and its parent."""

GRACE_SECONDS = 2.0
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for k in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(1, b"ready\\n")  # in one piece: three processes write at once
            while True:
                time.sleep(0.1)
        os._exit(0)
while True:
    time.sleep(0.1)
"""
"""Ignores SIGTERM, and so do its three detached grandchildren."""


class TestShimKilled:
    def test_the_job_is_lost_and_its_tree_is_gone(self, either: RunningServer, footprint: Footprint) -> None:
        with either.client() as client:
            job = client.jobs.submit(name="tree", command=TREE, resources={"device": "npu:1"})
            wait_for_line(job, "ready")
            assert len(processes_of(footprint, job)) > 40
            kill_shim(either.data_dir, job)
            job.wait()
            assert processes_of(footprint, job) == [], "its devices were free before its processes were gone"
            assert (job.state, job.reason.code) == (JobState.FAILED, "lost")
            (attempt,) = job.details.attempts
            assert attempt.state is AttemptState.LOST
            assert "killed" in job.reason.message
        check_at_rest(either.data_dir, footprint)

    def test_a_retry_policy_is_obeyed(self, either: RunningServer, footprint: Footprint) -> None:
        command = "echo attempt $DANLU_ATTEMPT; [ $DANLU_ATTEMPT = 1 ] && sleep 3600; exit 0"
        with either.client() as client:
            again = client.jobs.submit(name="again", command=command, retry={"max": 1, "on": ["lost"], "backoff": 0.1})
            other = client.jobs.submit(
                name="other", command=command, retry={"max": 1, "on": ["exit_code"], "backoff": 0.1}
            )
            for job in (again, other):
                wait_for_line(job, "attempt 1")
                kill_shim(either.data_dir, job)
            assert again.wait().state is JobState.SUCCEEDED
            assert [attempt.state for attempt in again.details.attempts] == [AttemptState.LOST, AttemptState.SUCCEEDED]
            assert [line.text for line in again.logs(attempt=1)] == ["attempt 1"]
            assert [line.text for line in again.logs()] == ["attempt 2"]
            other.wait()
            assert (other.state, other.reason.code, other.details.attempt) == (JobState.FAILED, "lost", 1)
        check_at_rest(either.data_dir, footprint)

    def test_one_lost_rank_ends_the_gang(self, either: RunningServer, footprint: Footprint) -> None:
        with either.client() as client:
            job = client.jobs.submit(name="gang", command="echo ready; sleep 3600", nodes=2, grace=5)
            for rank in (0, 1):
                wait_for_line(job, "ready", rank=rank)
            kill_shim(either.data_dir, job, rank=1)
            job.wait()
            (attempt,) = job.details.attempts
            assert (job.reason.code, attempt.first_failed_rank) == ("lost", 1)
        check_at_rest(either.data_dir, footprint)


class TestShimTerminated:
    def test_the_job_ends_in_order_and_is_not_started_unasked(
        self, either: RunningServer, footprint: Footprint
    ) -> None:
        command = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
        with either.client() as client:
            job = client.jobs.submit(name="outside", command=command)
            wait_for_line(job, "ready")
            kill_shim(either.data_dir, job, number=signal.SIGTERM)
            job.wait()
            assert (job.state, job.reason.code, job.details.attempt) == (JobState.FAILED, "stopped_outside", 1)
            assert [line.text for line in job.logs()][-1] == "saved"
        check_at_rest(either.data_dir, footprint)


class TestOddOutput:
    def test_the_rest_is_stored_and_the_folder_stays_until_the_job_goes(
        self, either: RunningServer, footprint: Footprint
    ) -> None:
        command = (
            'cd "$DANLU_OUTPUT_DIR"; touch .partial.x "$(printf \'new\\nline\')" "$(printf \'latin-\\351\')"; '
            "echo weights > model.bin; exit 3"
        )
        with either.client() as client:
            job = client.jobs.submit(name="odd", command=command)
            job.wait()
            assert (job.state, job.reason.code) == (JobState.FAILED, "exit_code")
            assert "3 of 4 files could not be stored" in job.reason.message
            stored = list(client.store.list(job.output))
            assert [item.key.rpartition("/")[2] for item in stored] == ["model.bin"]
            assert footprint.folders() == [f"{job.id}/1"]
            check_at_rest(either.data_dir, footprint)
            job.delete()
        # the next look at what is left over takes it; nothing here waits ten minutes for that
        shutil.rmtree(either.data_dir / "work" / job.id)
        check_at_rest(either.data_dir, footprint)


class TestStubborn:
    def test_everything_is_gone_after_the_grace(
        self, either: RunningServer, footprint: Footprint, tmp_path: Path
    ) -> None:
        (tmp_path / "code").mkdir()
        (tmp_path / "code" / "stubborn.py").write_text(STUBBORN)
        with either.client() as client:
            job = client.jobs.submit(
                name="stubborn",
                command="exec python3 stubborn.py",
                code={"path": str(tmp_path / "code")},
                grace=GRACE_SECONDS,
                resources={"device": "npu:1"},
            )
            wait_for_line(job, "ready", times=3)
            asked_at = time.monotonic()
            job.stop()
            during_grace: list[int] = []

            def is_over() -> bool:
                found = len(processes_of(footprint, job))
                if time.monotonic() - asked_at < GRACE_SECONDS:
                    during_grace.append(found)
                    check_always(either.data_dir, footprint)
                return job.refresh().is_over

            wait_until(is_over)
            assert all(found >= 4 for found in during_grace), "they were killed before their grace was over"
            assert time.monotonic() - asked_at >= GRACE_SECONDS
            assert processes_of(footprint, job) == []
            assert (job.state, job.reason.code) == (JobState.STOPPED, "stopped_by_user")
        check_at_rest(either.data_dir, footprint)


def processes_of(footprint: Footprint, job: Job) -> list[str]:
    return [process.command for process in footprint.look() if process.job == job.id]


def kill_shim(data_dir: Path, job: Job, *, rank: int = 0, number: int = signal.SIGKILL) -> None:
    record = data_dir / "work" / job.id / "1" / str(rank) / "status.json"
    os.kill(int(json.loads(record.read_text())["pid"]), number)


def wait_for_line(job: Job, text: str, *, rank: int = 0, times: int = 1) -> None:
    seen = 0
    for line in job.logs(follow=True, rank=rank):
        seen += line.text == text
        if seen == times:
            return
    pytest.fail(f"{job.id} ended without saying {text!r}: {job.refresh().reason}")
