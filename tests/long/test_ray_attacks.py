"""What a job reaches of a Ray cluster that is not its business, tried from inside. Nothing here lies below /tmp, which
is hidden anyway."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from danlu.client import Client
from danlu.spec.states import JobState
from danlu.testing.machines import can_make_machines
from danlu.testing.ray_cluster import GCS_PORT, HEAD, RayCluster, running_ray
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not can_make_machines(), reason="making machines needs root and iproute2"),
]

AGENT_PORT = 52365
LATE = "late"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="ray-", dir="/var/lib"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[RayCluster]:
    with running_ray(folder, spare=[LATE]) as running:
        yield running


@pytest.fixture(scope="module")
def client(cluster: RayCluster, folder: Path) -> Iterator[Client]:
    """Of a server that has the head as a node of its own, where the tables of the cluster are."""
    options = ("--engine", "ray,local", *cluster.server_options[2:])
    server = RunningServer(folder / "data", *options, within=cluster.machines.within(HEAD))
    server.env = cluster.server_env
    server.start()
    with server.client() as made:
        yield made
    server.stop()


READ = """
import glob, os, stat, subprocess, sys
first, second, folder = sys.argv[1:]
token = (first + second).encode()  # in two parts, so that this program does not find itself
for name in ("head", "head/session_latest/logs", "gcs", "nodes/*"):
    for path in glob.glob(f"{folder}/{name}"):
        print(*(f"{path} has {one}" for one in os.listdir(path) if os.path.isdir(path)), sep="\\n")
for name in os.environ:
    if name.upper().startswith("RAY"):
        print("variable", name)
for process in glob.glob("/proc/[0-9]*"):
    with open(f"{process}/comm") as file:
        name = file.read().strip()
    if name in ("raylet", "gcs_server") or name.startswith(("ray", "danlu-")):
        print("process", name)
    opened = [os.path.realpath(one) for one in glob.glob(f"{process}/fd/*")]
    print(*(f"opens {one}" for one in opened if one.startswith((f"{folder}/head", f"{folder}/gcs"))), sep="\\n")
places = [folder, "/etc", "/run", "/tmp", "/var", "/dev/shm", "/home", "/root", *glob.glob("/proc/[0-9]*")]
for folder, folders, files in (step for place in places for step in os.walk(place)):
    folders[:] = [one for one in folders if not (folder.startswith("/proc") and one in ("task", "map_files", "net"))]
    for path in (os.path.join(folder, one) for one in files):
        try:
            kind = os.lstat(path).st_mode
            if stat.S_ISSOCK(kind):
                print("socket", path)
            elif stat.S_ISREG(kind) and not path.endswith(("/mem", "/clear_refs", "/pagemap")):
                with open(path, "rb") as file:
                    if token in file.read(64 << 20):
                        print("token", path)
        except OSError:
            continue
print("to the end")
"""


@contextmanager
def only_on(client: Client, engine: str) -> Iterator[list[str]]:
    """The nodes of an engine; all others are drained meanwhile."""
    nodes = {node.name: node.engine for node in client.nodes()}
    others = [name for name in nodes if nodes[name] != engine]
    for name in others:
        client.drain_node(name, "the next job is to run elsewhere")
    try:
        yield [name for name in nodes if nodes[name] == engine]
    finally:
        for name in others:
            client.open_node(name)


@pytest.mark.parametrize("engine", ["ray", "local"])
def test_a_job_reads_nothing_of_ray(cluster: RayCluster, client: Client, folder: Path, engine: str) -> None:
    """The local engine's node is the head."""
    assert (folder / "gcs").is_dir()
    assert (folder / "token").read_text() == cluster.token
    with only_on(client, engine) as nodes:
        command = ["python3", "-c", READ, cluster.token[:9], cluster.token[9:], str(folder)]
        job = client.jobs.submit(name="reads", command=command)
        assert job.wait().state is JobState.SUCCEEDED, job.reason
        assert job.details.attempts[-1].tasks[0].node in nodes
        assert [line.text for line in job.logs() if line.text.strip()] == ["to the end"]


REACH = """
import socket, sys, time
def leads_to(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((address, 4789))  # asks the routing table and sends nothing
            return True
        except OSError:
            return False
def is_reached(address, port):
    with socket.socket() as sock:
        sock.settimeout(5)
        return sock.connect_ex((address, port)) == 0
late, elsewhere, *services = sys.argv[1:]
for service in services:
    address, port = service.split(":")
    if is_reached(address, int(port)):
        print("reached", service)
print("ready" if leads_to(late) else "closed before", flush=True)
while leads_to(late):
    time.sleep(0.1)
print("closed", is_reached(late, int(services[-1].split(":")[1])), leads_to(elsewhere), flush=True)
"""


def test_a_node_that_joins_later_is_closed_to_jobs_that_run(cluster: RayCluster, client: Client) -> None:
    addresses = cluster.machines.addresses
    services = [f"{addresses[HEAD]}:{GCS_PORT}", *(f"{addresses[name]}:{AGENT_PORT}" for name in ("one", "two"))]
    command = ["python3", "-c", REACH, addresses[LATE], "198.51.100.10", *services]
    gang = client.jobs.submit(name="gang", command=command, nodes=2)
    wait_until(lambda: len(list(gang.logs())) == 2, lambda: gang.refresh().row)
    with only_on(client, "local") as here:
        alone = client.jobs.submit(name="alone", command=command)
        wait_until(lambda: list(alone.logs()), lambda: alone.refresh().row)
    cluster.start_workers([LATE])
    for job, count in ((gang, 2), (alone, 1)):
        assert job.wait().state is JobState.SUCCEEDED, job.reason
        assert sorted(line.text.strip() for line in job.logs()) == ["closed False True"] * count + ["ready"] * count
    assert alone.details.attempts[-1].tasks[0].node in here
