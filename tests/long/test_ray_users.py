"""Quotas, metrics, artifacts, inputs, images and measurements on a Ray cluster of three nodes."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import danlu
from danlu.client import Client
from danlu.client.jobs.job import Job
from danlu.client.jobs.jobfile import read_job_file
from danlu.spec.states import JobState
from danlu.testing.gates import UNTIL_STOPPED
from danlu.testing.machines import can_make_machines
from danlu.testing.ray_cluster import HEAD, RayCluster, running_ray
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not can_make_machines(), reason="making machines needs root and iproute2"),
]

EXAMPLES = Path(__file__).parents[2] / "examples"
IMAGE = "localhost/danlu-busybox:1"
SOURCE = str(Path(danlu.__file__).parents[1])
TRAINS = """
import os, random
from danlu import track
rank = int(os.environ["RANK"])
run = track.start("over-nodes")
for step in range(5):
    run.log({"loss": 1.0 / (step + 1)}, step=step)
if rank == 0:
    with open("model.pt", "wb") as file:
        file.write(random.Random(0).randbytes(300_000))
    run.mark_output(track.artifact("over-nodes-model").add_file("model.pt"))
run.finish()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
    with running_ray(folder) as running:
        yield running
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def ray_server(cluster: RayCluster) -> Iterator[RunningServer]:
    options = (*cluster.server_options, "--simulate", "npu:910b:2")
    running = RunningServer(cluster.folder / "data", *options, within=cluster.machines.within(HEAD))
    running.env = cluster.server_env
    yield running.start()
    running.stop()


@pytest.fixture
def ray_client(ray_server: RunningServer) -> Iterator[Client]:
    with ray_server.client() as client:
        wait_until(lambda: sum(node.cpus > 0 for node in client.nodes()) == 2, lambda: list(client.nodes()))
        yield client


def said(job: Job) -> list[str]:
    return [line.text.strip() for line in job.logs()]


def nodes_of(job: Job) -> set[str]:
    return {task.node for task in job.details.attempts[-1].tasks}


def test_a_quota_counts_what_gangs_hold_on_all_nodes(ray_client: Client) -> None:
    ray_client.quotas.set("default", {"npu": 2})
    try:
        one_each = {"device": "npu:1"}
        first = ray_client.jobs.submit(name="first", command=UNTIL_STOPPED, nodes=2, resources=one_each, grace=1)
        wait_until(lambda: first.refresh().state is JobState.RUNNING, lambda: first.row)
        second = ray_client.jobs.submit(name="second", command="true", resources=one_each)
        wait_until(lambda: second.refresh().reason.code == "quota_project", lambda: second.row)
        (line,) = ray_client.quotas.get("default").quotas
        assert (line.resource, line.quota, line.used) == ("npu", 2.0, 2.0)
        first.stop()
        assert second.wait().state is JobState.SUCCEEDED, second.reason
    finally:
        ray_client.quotas.set("default", {})


def test_metrics_and_artifacts_come_from_every_node(ray_client: Client, cluster: RayCluster, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINS)
    job = ray_client.jobs.submit(
        name="tracks",
        command=f"{sys.executable} train.py",
        nodes=2,
        launch="ddp",
        code={"path": str(tmp_path)},
        env={"PYTHONPATH": SOURCE},
    )
    assert job.wait().state is JobState.SUCCEEDED, said(job)
    assert nodes_of(job) == {cluster.machines.addresses[name] for name in ("one", "two")}
    runs = [one for one in ray_client.runs.list(job=job.id) if not one.is_own]
    (run,) = [ray_client.runs.get(one.id) for one in runs]
    wait_until(lambda: len(run.points("train/loss").step) == 5, lambda: [one.model_dump() for one in run.series()])
    losses = run.points("train/loss")
    assert (losses.step, losses.value) == (list(range(5)), [1 / (step + 1) for step in range(5)])
    (version,) = ray_client.artifacts.versions("over-nodes-model")
    assert (version.run, version.job) == (run.id, job.id)
    (path,) = ray_client.artifacts.download(version, tmp_path / "back")
    assert path.read_bytes() == random.Random(0).randbytes(300_000)

    reads = ray_client.jobs.submit(
        name="reads",
        command="sha256sum $DANLU_DATA_DIR/model/model.pt",
        nodes=2,
        data={"artifact:over-nodes-model:1": "model"},
    )
    assert reads.wait().state is JobState.SUCCEEDED, (reads.reason, said(reads))
    assert len({line.split()[0] for line in said(reads)}) == 1
    assert len(said(reads)) == 2


def test_a_gang_in_an_image(ray_client: Client) -> None:
    problems = {node.name: node.image_tool for node in ray_client.nodes()}
    if not set(problems.values()) & {"podman", "docker"} or shutil.which("busybox") is None:
        pytest.skip(f"no image can be made here: {problems}")
    subprocess.run([EXAMPLES / "image" / "make_image.sh", IMAGE], check=True, capture_output=True)
    job_file = read_job_file(EXAMPLES / "image" / "job.yml", [])
    job = ray_client.jobs.submit(job_file.values, folder=job_file.folder)
    assert job.wait().state is JobState.SUCCEEDED, (job.reason, said(job))
    assert len(nodes_of(job)) == 2
    assert sorted(said(job)) == [f"rank {rank} of 2: this is the image, as danlu on worker-{rank}" for rank in range(2)]


def test_a_benchmark_measures_every_node(ray_client: Client, ray_server: RunningServer, cluster: RayCluster) -> None:
    words = ["bench", "run", "memory", "--nodes", "2", "--set", "parameters.megabytes=8"]
    env = {**cluster.env, "DANLU_URL": ray_server.url, "DANLU_API_KEY": ray_server.api_key}
    done = subprocess.run(
        [*cluster.machines.within(HEAD), sys.executable, "-m", "danlu", *words],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (job,) = ray_client.jobs.list(limit=1)
    assert nodes_of(job.refresh()) == {cluster.machines.addresses[name] for name in ("one", "two")}
