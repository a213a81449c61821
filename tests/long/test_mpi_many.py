"""Many MPI jobs at once, each over several tasks, some of which fail or are stopped: none disturbs another."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from danlu.client import Client, Job
from danlu.spec.states import JobState
from danlu.testing.footprint import Footprint
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

CODE = Path(__file__).parents[2] / "examples" / "mpi" / "code"
ROUNDS, TASKS = 6, 5

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun: scripts/system-packages.sh tests"),
]


def submit(client: Client, name: str, line: str) -> Job:
    return client.jobs.submit(
        name=name,
        command=f"mpirun -mca routed_radix 2 -np $GPU_NUM {line}",  # so that daemons start daemons
        launch="mpi",
        nodes=TASKS,
        resources={"device": "cpu:2"},
        code={"path": str(CODE)},
        grace="5s",
    )


def is_up(job: Job) -> bool:
    return sum(line.text.strip() == "up" for line in job.logs()) == 2 * TASKS


def test_jobs_that_run_at_once_end_each_in_its_own_way(make_server: Callable[..., RunningServer]) -> None:
    server = make_server("--max-tasks", "64")
    with server.client() as client:
        for _ in range(ROUNDS):
            good = [submit(client, f"good-{number}", "python3 allreduce.py") for number in range(2)]
            # one that fails before all have begun is not named by mpirun
            line = "test $OMPI_COMM_WORLD_RANK != 7 || { sleep 5; exit 9; }; exec sleep 3600"
            bad = submit(client, "bad", f"bash -c '{line}'")
            stopped = submit(client, "stopped", "bash -c 'echo up; exec sleep 3600'")
            for job in good:
                assert job.wait().state is JobState.SUCCEEDED
                assert sum("the sum of all ranks is 45" in line.text for line in job.logs()) == 2 * TASKS
            told = bad.wait().reason.message
            assert "MPI rank 7 ended with code 9" in told, [line.text for line in bad.logs()]
            wait_until(partial(is_up, stopped))
            stopped.stop()
            assert stopped.wait().state is JobState.STOPPED
    footprint = Footprint(server.data_dir)
    wait_until(lambda: not footprint.left(), footprint.left)
