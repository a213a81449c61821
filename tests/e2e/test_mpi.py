"""Jobs that mpirun starts, for real: Open MPI over our own agent into tasks that have an address each."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.client import Client
from danlu.client.jobfile import read_job_file
from danlu.spec.states import JobState, is_over
from danlu.testing.serving import RunningServer

EXAMPLE = Path(__file__).parents[2] / "examples" / "mpi"
LINE = re.compile(r"MPI rank (\d) of 4 in task (\d) \((\w+)\) on (\S+): the sum of all ranks is 6")

pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    running = RunningServer(tmp_path_factory.mktemp("mpi") / "data").start()
    with running.client() as client:
        yield client
        assert all(is_over(job.state) for job in client.jobs.list())
    running.stop()


def said(job_id: str, client: Client) -> list[str]:
    return [line.text.rstrip() for line in client.jobs.get(job_id).logs()]


def test_the_example_adds_up_in_two_tasks_of_two_ranks(client: Client) -> None:
    job_file = read_job_file(EXAMPLE / "job.yml", [])
    job = client.jobs.submit(job_file.values, folder=job_file.folder)
    ended = job.wait(timeout=60)
    assert ended.state is JobState.SUCCEEDED, said(job.id, client)
    seen = sorted(found.groups() for found in map(LINE.fullmatch, said(job.id, client)) if found)
    launcher, worker = f"{job.id}-launcher-0", f"{job.id}-worker-0"
    assert seen == [
        ("0", "0", "launcher", launcher),
        ("1", "0", "launcher", launcher),
        ("2", "1", "worker", worker),
        ("3", "1", "worker", worker),
    ]
    assert [(task.role, str(task.state)) for task in ended.details.attempts[-1].tasks] == [
        ("launcher", "succeeded"),
        ("worker", "stopped"),
    ]
