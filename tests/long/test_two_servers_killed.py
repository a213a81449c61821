"""`kill -9` of one of two servers, again and again, while jobs are submitted and run."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pytest
from tests.support.stores import S3Servers
from tests.support.team import Team, running_team

from danlu.client import Client
from danlu.errors import DanluError
from danlu.spec.states import JobState
from danlu.testing.gates import HOLD
from danlu.testing.postgres import Postgres
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

NUM_KILLS = 12
COMMAND = "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.5; done; echo made > $DANLU_OUTPUT_DIR/made.txt"


@pytest.mark.long
def test_either_server_may_be_killed(tmp_path: Path, postgres: Postgres, s3_servers: S3Servers) -> None:
    seed = int(os.environ.get("DANLU_FAULT_SEED", "0")) or int(time.time())
    print(f"DANLU_FAULT_SEED={seed} repeats this choice of moments")
    with running_team(tmp_path, postgres, s3_servers) as team:
        acknowledged = _kill_under_load(team, random.Random(seed))
        with team.client() as client:
            for job_id in acknowledged:
                _check(client, job_id, tmp_path)
        print(f"{len(acknowledged)} jobs, {NUM_KILLS} kills")
        assert len(acknowledged) > 30


@pytest.mark.long
def test_the_other_server_takes_over_what_a_killed_one_looked_after(
    tmp_path: Path, postgres: Postgres, s3_servers: S3Servers
) -> None:
    with running_team(tmp_path, postgres, s3_servers) as team:
        first, second = team.servers
        with first.client() as client:
            job = client.jobs.submit(name="orphan", command=f"echo begun; {HOLD}; echo over")
            wait_until(lambda: client.jobs.get(job.id).state is JobState.RUNNING)
        first.kill()
        team.balancer.serve(second.url)
        second.let_go(job.id)
        began = time.monotonic()
        with second.client() as client:
            ended = client.jobs.get(job.id).wait()
            assert ended.state is JobState.SUCCEEDED, ended.reason
            assert [line.text.strip() for line in ended.logs()] == ["begun", "over"]
            fresh = client.jobs.submit(name="fresh", command="echo hello").wait()
            assert fresh.state is JobState.SUCCEEDED
        print(f"taken over and ended {time.monotonic() - began:.0f} s after the kill")


def _kill_under_load(team: Team, chance: random.Random) -> list[str]:
    acknowledged: list[str] = []
    is_enough = threading.Event()

    def submit() -> None:
        with team.client() as client:
            while not is_enough.is_set():
                try:
                    acknowledged.append(client.jobs.submit(name="load", command=COMMAND).id)
                except DanluError as error:  # a request that was not acknowledged may be lost
                    print(f"not acknowledged: {error}")
                is_enough.wait(0.7)

    threads = [threading.Thread(target=submit) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(NUM_KILLS):
        victim = chance.choice(team.servers)
        _wait_for_work(victim, chance.uniform(0.1, 1))
        victim.kill()
        (other,) = set(team.servers) - {victim}
        _wait_for_work(other, chance.uniform(0, 0.5))
        victim.start()
    is_enough.set()
    for thread in threads:
        thread.join()
    return acknowledged


def _wait_for_work(server: RunningServer, cpu_seconds: float) -> None:
    """A moment of the server's own time, whatever else the machine does."""
    wanted = server.cpu_seconds() + cpu_seconds
    wait_until(lambda: server.cpu_seconds() >= wanted)


def _check(client: Client, job_id: str, folder: Path) -> None:
    job = client.jobs.get(job_id).wait()
    assert job.state is JobState.SUCCEEDED, f"{job_id}: {job.state} {job.reason}"
    assert len(job.details.attempts) == 1, job_id
    assert [line.text.strip() for line in job.logs()] == [f"line {number}" for number in range(1, 7)], job_id
    (made,) = client.store.download(f"{job.output}made.txt", folder / f"{job_id}.txt")
    assert made.read_text() == "made\n"
