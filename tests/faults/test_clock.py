"""The server's clock is set back by an hour while jobs run, are claimed, and wait for their next attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.client import Client, Job
from danlu.spec.states import JobState
from danlu.testing.clock import make_clock
from danlu.testing.footprint import Footprint
from danlu.testing.gates import HOLD
from danlu.testing.invariants import check_always, check_at_rest
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until


def test_an_hour_back(hurt: RunningServer, footprint: Footprint, tmp_path: Path) -> None:
    clock = make_clock(tmp_path)
    if clock is None:
        pytest.skip("there is no C compiler to make a settable clock with, and the machine's own is not ours to set")
    hurt.env = clock.env
    with hurt.start().client() as client:
        before = client.jobs.submit(name="before", command=f"echo begun; {HOLD}; echo over")
        wait_until(lambda: before.refresh().state is JobState.RUNNING)
        retried = waits_for_its_retry(client)

        clock.set(-3600)
        hurt.let_go(before.id)
        after = [client.jobs.submit(name="after", command="echo fine") for _ in range(5)]
        stopped = client.jobs.submit(name="stopped", command="sleep 3600", grace=1)
        wait_until(lambda: stopped.refresh().state is JobState.RUNNING)
        assert stopped.details.created_at < before.details.created_at, "the clock was not set back"
        assert stopped.stop().wait().state is JobState.STOPPED
        for job in (before, *after, retried):
            assert job.wait().state is JobState.SUCCEEDED, job.reason
        assert retried.details.attempt == 2
        assert len({job.id for job in client.jobs.list() if job.name != "retried"}) == 7
        assert b"".join(before.raw_log()) == b"begun\nover\n"
        assert before.details.attempts[0].tasks[0].log_bytes == len(b"begun\nover\n")

        # claims from before, taken over by a server that starts with the earlier clock
        long = client.jobs.submit(name="long", command=f"{HOLD}; echo over")
        wait_until(lambda: long.refresh().state is JobState.RUNNING)
        check_always(hurt.data_dir, footprint)
        hurt.kill()
        clock.set(-7200)
    with hurt.start().client() as client:
        hurt.let_go(long.id)
        assert client.jobs.get(long.id).wait().state is JobState.SUCCEEDED
    check_at_rest(hurt.data_dir, footprint)


def waits_for_its_retry(client: Client) -> Job:
    """A job between its two attempts. A longer wait is tried when the machine is too slow to see a short one."""
    for backoff in (3, 30, 300):
        retry = {"max": 1, "on": ["exit_code"], "backoff": backoff}
        job = client.jobs.submit(name="retried", command="[ $DANLU_ATTEMPT = 2 ]", retry=retry)
        wait_until(lambda job=job: job.refresh().reason.code == "retry_wait" or job.is_over)  # type: ignore[misc]
        if not job.is_over:
            return job
    raise AssertionError("no job was seen between its attempts")
