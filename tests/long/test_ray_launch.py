"""`launch: ray` for real: a Ray cluster of a job's own, with two tasks of one machine as its nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.client import Client
from danlu.client.jobs.job import Job
from danlu.spec.states import JobState
from danlu.testing.footprint import Footprint
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

pytestmark = pytest.mark.long

SPREAD = """
import ray, sys
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On
ray.init(log_to_driver=False)

@ray.remote(num_cpus=1)
class Where:
    def address(self):
        return ray.util.get_node_ip_address()

    def add(self, number):
        return number + 1

actors = [
    Where.options(scheduling_strategy=On(node["NodeID"], soft=False)).remote() for node in ray.nodes()
]
print("at", *sorted(ray.get([actor.address.remote() for actor in actors], timeout=300)), flush=True)
print("sum", sum(ray.get([actor.add.remote(20) for actor in actors], timeout=300)), flush=True)
sys.exit(int(sys.argv[1]))
"""


def text_of(job: Job) -> list[str]:
    return [line.text for line in job.logs()]


def submit(client: Client, folder: Path, code: int, **fields: object) -> Job:
    (folder / "spread.py").write_text(SPREAD)
    return client.jobs.submit(
        name="own-ray",
        command=f"python3 spread.py {code}",
        launch="ray",
        nodes=2,
        code={"path": str(folder)},
        **fields,  # type: ignore[arg-type]
    )


def test_a_command_runs_once_on_a_cluster_of_all_tasks(server: RunningServer, client: Client, tmp_path: Path) -> None:
    job = submit(client, tmp_path, 0)
    ended = job.wait()
    assert ended.state is JobState.SUCCEEDED, (ended.reason, text_of(job))
    said = text_of(job)
    assert "at 10.88.0.1 10.88.0.2" in said
    assert "sum 42" in said
    assert [(task.role, str(task.state)) for task in ended.details.attempts[-1].tasks] == [
        ("launcher", "succeeded"),
        ("worker", "stopped"),
    ]
    wait_until(lambda: not Footprint(server.data_dir).left(), lambda: Footprint(server.data_dir).left())


def test_the_exit_code_of_the_command_is_that_of_the_job(client: Client, tmp_path: Path) -> None:
    job = submit(client, tmp_path, 7)
    ended = job.wait()
    assert ended.state is JobState.FAILED
    assert ended.details.attempts[-1].tasks[0].exit_code == 7, (ended.reason, text_of(job))


def test_an_environment_without_ray_says_so(client: Client) -> None:
    job = client.jobs.submit(name="no-ray", command="true", launch="ray", env={"PATH": "/usr/bin:/bin"})
    assert job.wait().state is JobState.FAILED
    assert any("expected the program `ray`" in line for line in text_of(job)), text_of(job)
