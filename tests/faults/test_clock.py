"""The server's clock is set back by an hour while jobs run, are claimed, and wait for their next attempt."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from danlu.spec.states import JobState
from danlu.testing.clock import make_clock
from danlu.testing.footprint import Footprint
from danlu.testing.invariants import check_always, check_at_rest
from danlu.testing.load import wait_until
from danlu.testing.serving import RunningServer


def test_an_hour_back(hurt: RunningServer, footprint: Footprint, tmp_path: Path) -> None:
    clock = make_clock(tmp_path)
    if clock is None:
        pytest.skip("there is no C compiler to make a settable clock with, and the machine's own is not ours to set")
    hurt.env = clock.env
    with hurt.start().client() as client:
        before = [client.jobs.submit(name="before", command="echo begun; sleep 3; echo over")]
        wait_until(lambda: before[0].refresh().state is JobState.RUNNING)
        retried = client.jobs.submit(
            name="retried", command="[ $DANLU_ATTEMPT = 2 ]", retry={"max": 1, "on": ["exit_code"], "backoff": 3}
        )
        wait_until(lambda: retried.refresh().reason.code == "retry_wait")

        clock.set(-3600)
        set_back_at = time.monotonic()
        after = [client.jobs.submit(name="after", command="echo fine") for _ in range(5)]
        stopped = client.jobs.submit(name="stopped", command="sleep 600", grace=1)
        wait_until(lambda: stopped.refresh().state is JobState.RUNNING)
        assert stopped.details.created_at < before[0].details.created_at, "the clock was not set back"
        assert stopped.stop().wait(timeout=20).state is JobState.STOPPED
        for job in (*before, *after, retried):
            assert job.wait(timeout=30).state is JobState.SUCCEEDED, job.reason
        assert retried.details.attempt == 2
        assert time.monotonic() - set_back_at < 30
        assert len({job.id for job in client.jobs.list()}) == 8
        assert b"".join(before[0].raw_log()) == b"begun\nover\n"
        assert before[0].details.attempts[0].tasks[0].log_bytes == len(b"begun\nover\n")

        # claims from before, taken over by a server that starts with the earlier clock
        long = client.jobs.submit(name="long", command="sleep 4; echo over")
        wait_until(lambda: long.refresh().state is JobState.RUNNING)
        check_always(hurt.data_dir, footprint)
        hurt.kill()
        clock.set(-7200)
    with hurt.start().client() as client:
        assert client.jobs.get(long.id).wait(timeout=30).state is JobState.SUCCEEDED
    check_at_rest(hurt.data_dir, footprint)
