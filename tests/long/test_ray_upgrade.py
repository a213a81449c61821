"""Danlu is upgraded on a Ray cluster while a job trains: first the server, then the nodes, one after the other.

The older version is a copy of this one with another number.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

import danlu
from danlu.client import Client
from danlu.client.jobs.job import Job
from danlu.spec.states import JobState
from danlu.testing.machines import can_make_machines
from danlu.testing.ray_cluster import HEAD, RayCluster, running_ray
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not can_make_machines(), reason="making machines needs root and iproute2"),
]

OLD = "0.0.9"
COUNT = """
import os, time
number = 0
while not os.path.exists("go"):
    print(number, flush=True)
    number += 1
    time.sleep(0.02)
print("end of", number, flush=True)
"""


@pytest.fixture
def versions() -> Iterator[Path]:
    """A folder with `old` and `new`; `one` and `two` are what is installed on the nodes of that name."""
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
    source = Path(danlu.__file__).parent
    shutil.copytree(source, folder / "old" / "danlu", ignore=shutil.ignore_patterns("__pycache__"))
    init = folder / "old" / "danlu" / "__init__.py"
    init.write_text(re.sub(r'__version__ = ".*"', f'__version__ = "{OLD}"', init.read_text()))
    (folder / "new").mkdir()
    (folder / "new" / "danlu").symlink_to(source)
    for name in ("one", "two"):
        (folder / name).symlink_to(folder / "old")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def upgrade(versions: Path, node: str) -> None:
    (versions / "next").symlink_to(versions / "new")
    os.replace(versions / "next", versions / node)


def test_a_job_trains_through_an_upgrade(versions: Path, tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text(COUNT)
    path_of = {name: {"PYTHONPATH": str(versions / name)} for name in ("one", "two")}
    with running_ray(versions / "ray", env_of=path_of) as cluster:
        nodes = {name: cluster.machines.addresses[name] for name in ("one", "two")}
        server = start(cluster, PYTHONPATH=str(versions / "old"))
        with server.client() as client:
            wait_until(partial(are_usable, client, nodes.values()), lambda: list(client.nodes()))
            job = client.jobs.submit(name="count", command="python3 count.py", nodes=2, code={"path": str(tmp_path)})
            wait_for_growth(job)
        server.stop()

        server.env.pop("PYTHONPATH")
        server.start()
        with server.client() as client:
            job = client.jobs.get(job.id)
            told = f"Not used: the agent is Danlu {OLD}, and the server is {danlu.__version__}"
            wait_until(lambda: all(told in node.missing for node in client.nodes()), lambda: list(client.nodes()))
            wait_until(lambda: job.refresh().reason.code == "unreachable", lambda: job.row)

            upgrade(versions, "one")
            wait_until(partial(are_usable, client, [nodes["one"]]), lambda: list(client.nodes()))
            assert not are_usable(client, [nodes["two"]])
            alone = client.jobs.submit(name="alone", command="echo $DANLU_NODE")
            assert alone.wait().state is JobState.SUCCEEDED, alone.reason
            assert [line.text for line in alone.logs()] == [nodes["one"]]

            upgrade(versions, "two")
            wait_until(partial(are_usable, client, nodes.values()), lambda: list(client.nodes()))
            wait_until(lambda: job.refresh().reason.code == "running", lambda: job.row)
            wait_for_growth(job)
            for folder in (cluster.folder / "nodes").glob(f"*/*/{job.id}/1/*/ml/code"):
                (folder / "go").touch()
            assert job.wait().state is JobState.SUCCEEDED, job.reason
            assert len(job.details.attempts) == 1
            for rank in range(2):
                log = b"".join(job.raw_log(rank))
                count = int(log.split()[-1])
                assert log == b"".join(b"%d\n" % number for number in range(count)) + b"end of %d\n" % count
        server.stop()


def start(cluster: RayCluster, **env: str) -> RunningServer:
    server = RunningServer(cluster.folder / "data", *cluster.server_options, within=cluster.machines.within(HEAD))
    server.env = {**cluster.server_env, **env}
    return server.start()


def are_usable(client: Client, nodes: Iterable[str]) -> bool:
    return {node.name for node in client.nodes() if node.cpus > 0} >= set(nodes)


def wait_for_growth(job: Job) -> None:
    before = [len(b"".join(job.raw_log(rank))) for rank in range(2)]
    wait_until(
        lambda: all(len(b"".join(job.raw_log(rank))) > before[rank] for rank in range(2)), lambda: job.refresh().row
    )
