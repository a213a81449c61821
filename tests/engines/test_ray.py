"""The Ray engine on a real cluster of three nodes, each with a network and an address of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from danlu.client import Client
from danlu.client.jobs.jobfile import read_job_file
from danlu.engines.base import Engine, TerminalSize
from danlu.engines.ray import RayEngine
from danlu.engines.ray.open_door import is_open
from danlu.engines.settings import EngineSettings
from danlu.errors import InvalidInput
from danlu.spec.states import JobState
from danlu.testing.engine_contract import EngineContract
from danlu.testing.engines import Starter
from danlu.testing.gates import UNTIL_STOPPED
from danlu.testing.machines import can_make_machines
from danlu.testing.ray_cluster import HEAD, RayCluster, running_ray
from danlu.testing.serving import RunningServer
from danlu.testing.store_server import StoreServer, running_store
from danlu.testing.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.skipif(not can_make_machines(), reason="making machines needs root and iproute2")

TRAIN = """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())
for _ in range(5):
    optimizer.zero_grad()
    model(torch.randn(16, 8)).pow(2).mean().backward()
    optimizer.step()
total = sum(float(parameter.sum()) for parameter in model.parameters())
said = ["", f"sum {total!r}", f"nice {os.nice(0)} ray {[name for name in os.environ if 'RAY' in name]}", ""]
os.write(1, os.linesep.join(said).encode())  # at once: the ranks of a node write to one file
with open(os.path.join(os.environ["DANLU_OUTPUT_DIR"], f"{dist.get_rank()}.txt"), "w") as file:
    file.write(os.environ["DANLU_NODE"])
dist.barrier()
dist.destroy_process_group()
"""
TORCHRUN = (
    "torchrun --nnodes 2 --nproc-per-node {} --node-rank $INDEX --master-addr $CHIEF_IP --master-port 23456 train.py"
)

EXAMPLES = Path(__file__).parents[2] / "examples"
MEET = """
import os, socket, sys, time
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    print(socket.create_server(address).accept()[0].recv(10).decode())
    sys.exit()
while True:
    try:
        socket.create_connection(address).send(b"hello")
        break
    except OSError:
        time.sleep(0.05)
"""
RANK_TABLE = """
import json, os
table = json.load(open(os.environ["RANK_TABLE_FILE"]))
print(*(server["server_id"] for server in table["server_list"]))
"""
MODES: dict[str, dict[str, Any]] = {
    "plain": {"command": "echo $DANLU_RANK"},
    "mpi": {"launch": "mpi", "command": "mpirun bash -c 'echo $DANLU_ROLE $OMPI_COMM_WORLD_RANK'"},
    "horovod": {
        "launch": "horovod",
        "command": "for host in ${NODE_IP_SLOT_LIST//,/ }; do ssh ${host%:*} 'echo $DANLU_ROLE by ssh' || exit 1; done",
    },
    "deepspeed": {
        "launch": "deepspeed",
        "command": "pdsh -S -f 1024 -w $(cut -d' ' -f1 /job/hostfile | paste -sd,) 'echo %n'",
    },
    "ascend": {
        "launch": "ascend",
        "command": ["python3", "-c", RANK_TABLE],
        "resources": {"device": "npu:1"},
    },
    "host network": {"launch": "ddp", "network": "host", "command": ["python3", "-c", MEET]},
}
SAID = {
    "plain": ["0", "1"],
    "mpi": ["launcher 0", "worker 1"],
    "horovod": ["launcher by ssh", "worker by ssh"],
    "deepspeed": ["10.88.0.1: 0", "10.88.0.2: 1"],
    "ascend": ["10.88.0.1 10.88.0.2"] * 2,
    "host network": ["hello"],
}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Right below /tmp: the paths of Ray's sockets must be short."""
    made = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[RayCluster]:
    with running_ray(folder) as running:
        yield running


@pytest.fixture(scope="module")
def ray_server(cluster: RayCluster, folder: Path) -> Iterator[RunningServer]:
    options = (*cluster.server_options, "--simulate", "npu:910b:2")
    running = RunningServer(folder / "data", *options, within=cluster.machines.within(HEAD))
    running.env = {**cluster.server_env, "DANLU_SERVER_HOST_NETWORK": "true"}
    yield running.start()
    running.stop()


@pytest.fixture
def ray_client(ray_server: RunningServer) -> Iterator[Client]:
    with ray_server.client() as client:
        yield client


def test_the_server_sees_the_nodes_of_the_cluster(cluster: RayCluster, ray_client: Client) -> None:
    seen = {node.name: node for node in ray_client.nodes()}
    assert set(seen) == {cluster.machines.addresses[name] for name in ("one", "two")}
    assert all(node.engine == "ray" and node.is_reachable and node.cpus > 0 for node in seen.values())


def test_two_gangs_with_one_port_train_on_the_same_two_nodes(ray_client: Client, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    jobs = {
        processes: ray_client.jobs.submit(
            name="gang", command=TORCHRUN.format(processes), nodes=2, launch="ddp", code={"path": str(tmp_path)}
        )
        for processes in (2, 1)
    }
    for processes, job in jobs.items():
        assert job.wait().state is JobState.SUCCEEDED, list(job.logs())
        said = [line.text.strip() for line in job.logs()]
        sums = [line for line in said if line.startswith("sum")]
        assert len(sums) == 2 * processes
        assert len(set(sums)) == 1
        assert said.count("nice 0 ray []") == 2 * processes
        bucket, _, prefix = job.output.removeprefix("store://").partition("/")
        found = {item.key for item in ray_client.store.list(f"store://{bucket}/{prefix}")}
        assert {f"{prefix}{rank}.txt" for rank in range(2 * processes)} <= found


def test_every_launch_mode_crosses_nodes(cluster: RayCluster, ray_client: Client) -> None:
    """`ddp` is above."""
    jobs = {name: ray_client.jobs.submit(name=name, nodes=2, **fields) for name, fields in MODES.items()}
    nodes = {cluster.machines.addresses[name] for name in ("one", "two")}
    for name, job in jobs.items():
        assert job.wait().state is JobState.SUCCEEDED, (name, job.reason, [line.text for line in job.logs()])
        assert {task.node for task in job.details.attempts[-1].tasks} == nodes, name
        said = sorted(line.text.strip() for line in job.logs())
        assert said == SAID[name], name
    example = read_job_file(EXAMPLES / "ps_worker" / "job.yml", [])
    job = ray_client.jobs.submit(example.values, folder=example.folder)
    assert job.wait().state is JobState.SUCCEEDED, (job.reason, [line.text for line in job.logs()])


def test_jobs_see_nothing_of_ray_and_inherit_nothing_from_it(cluster: RayCluster, ray_client: Client) -> None:
    look = (
        f"ls -A {cluster.folder / HEAD} 2>/dev/null; env | grep ^RAY; grep -rsl {cluster.token} /proc/*/environ /tmp; "
        "echo threads ${OMP_NUM_THREADS:-unset}, nice $(nice)"
    )
    job = ray_client.jobs.submit(name="looks", command=look)
    assert job.wait().state is JobState.SUCCEEDED
    assert [line.text.strip() for line in job.logs()] == ["threads unset, nice 0"]


def test_this_machine_is_a_node_beside_those_of_the_cluster(cluster: RayCluster, folder: Path) -> None:
    options = ("--engine", "ray,local", *cluster.server_options[2:])
    running = RunningServer(folder / "both", *options, within=cluster.machines.within(HEAD))
    running.env = cluster.server_env
    running.start()
    far = {cluster.machines.addresses[name] for name in ("one", "two")}
    try:
        with running.client() as client:
            seen = {node.name: node.engine for node in client.nodes()}
            (here,) = set(seen) - far
            assert [seen[here], *(seen[name] for name in far)] == ["local", "ray", "ray"]
            gang = client.jobs.submit(name="gang", command="echo $DANLU_NODE", nodes=2)
            assert gang.wait().state is JobState.SUCCEEDED, gang.reason
            assert {task.node for task in gang.details.attempts[-1].tasks} == far
            most = next(node.cpus for node in client.nodes() if node.name == here)
            wide = client.jobs.submit(name="wide", command="true", nodes=3, resources={"cpus": most})
            wait_until(lambda: "nodes of one engine (ray, local)" in wide.refresh().reason.message, lambda: wide.row)
            for name in far:
                client.drain_node(name, "only here")
            ports = (cluster.address.replace(":", "/"), f"{cluster.machines.addresses['one']}/52365")
            tries = "; ".join(f"timeout 5 bash -c '< /dev/tcp/{port}' 2>/dev/null && echo reached" for port in ports)
            look = f"echo $DANLU_NODE; ls -A {cluster.folder / HEAD} 2>/dev/null; env | grep ^RAY; {tries}; true"
            alone = client.jobs.submit(name="alone", command=look)
            assert alone.wait().state is JobState.SUCCEEDED, alone.reason
            assert alone.details.attempts[-1].tasks[0].node == here
            assert [line.text.strip() for line in alone.logs()] == [here]
    finally:
        running.stop()


def test_two_jobs_with_one_fixed_port_on_the_host_network_wait_for_each_other(ray_client: Client) -> None:
    first = ray_client.jobs.submit(name="first", command=UNTIL_STOPPED, nodes=2, network="host", ports=[23999], grace=1)
    wait_until(lambda: first.refresh().state is JobState.RUNNING, lambda: first.row)
    second = ray_client.jobs.submit(name="second", command="true", nodes=1, network="host", ports=[23999])
    wait_until(lambda: second.refresh().reason.code == "no_capacity", lambda: second.row)
    assert "port 23999" in second.why().sentence
    first.stop()
    assert second.wait().state is JobState.SUCCEEDED


MOST_OF_A_NODE = {"cpus": 1.5}
"""Two of these never share a node here."""

STUBBORN = "trap '' TERM; setsid sleep 86399.125 & echo ready; sleep 86399.125; wait"


def test_a_preemptible_gang_gives_way_and_runs_again(ray_client: Client) -> None:
    first = ray_client.jobs.submit(
        name="first", command=UNTIL_STOPPED, nodes=2, preemptible=True, resources=MOST_OF_A_NODE, grace=1
    )
    wait_until(lambda: first.refresh().state is JobState.RUNNING, lambda: first.row)
    second = ray_client.jobs.submit(name="second", command="true", nodes=2, resources=MOST_OF_A_NODE)
    assert second.wait().state is JobState.SUCCEEDED, second.reason
    wait_until(
        lambda: first.refresh().state is JobState.RUNNING and len(first.details.attempts) == 2, lambda: first.row
    )
    first.stop()
    first.wait()


def test_room_is_given_away_after_the_last_process(ray_client: Client) -> None:
    first = ray_client.jobs.submit(name="first", command=STUBBORN, nodes=2, resources=MOST_OF_A_NODE, grace=1)
    wait_until(lambda: len(list(first.logs(grep="ready"))) == 2, lambda: first.refresh().row)
    assert num_processes("86399.125") > 0
    second = ray_client.jobs.submit(name="second", command="true", nodes=2, resources=MOST_OF_A_NODE)
    first.stop()
    wait_until(lambda: second.refresh().state is not JobState.QUEUED, lambda: second.row)
    assert num_processes("86399.125") == 0
    assert second.wait().state is JobState.SUCCEEDED, second.reason


def num_processes(word: str) -> int:
    """How many processes of this machine, in whatever namespace, have a word in their command."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += word.encode() in path.read_bytes().split(b"\0")
        except OSError:  # it has just ended
            continue
    return found


def test_a_rank_table_on_the_host_network_has_the_addresses_of_the_nodes(
    cluster: RayCluster, ray_client: Client
) -> None:
    fields = {**MODES["ascend"], "network": "host"}
    job = ray_client.jobs.submit(name="table", nodes=2, **fields)
    assert job.wait().state is JobState.SUCCEEDED, (job.reason, [line.text for line in job.logs()])
    tables = [set(line.text.split()) for line in job.logs()]
    assert tables == [{cluster.machines.addresses[name] for name in ("one", "two")}] * 2


@pytest.fixture(scope="module")
def ray_engine(cluster: RayCluster, folder: Path) -> Iterator[RayEngine]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster.server_env.items():
            patch.setenv(name, value)
        engine = open_engine(cluster, folder)
        yield engine
        engine.close()


def open_engine(cluster: RayCluster, folder: Path) -> RayEngine:
    engine = RayEngine.create(
        EngineSettings(
            work_dir=folder / "unused",
            server_id="contract",
            ray_address=cluster.address,
            node_dir=folder / "nodes",
            stage_in_patience_seconds=100 * HANG_SECONDS,
            stage_out_patience_seconds=100 * HANG_SECONDS,
        )
    )
    wait_until(lambda: len(engine.nodes()) == 2, engine.nodes)
    return engine


def test_a_command_runs_beside_a_task_on_another_node(ray_engine: RayEngine, cluster: RayCluster) -> None:
    starter = Starter(ray_engine)
    job = starter.start(f"echo ready; {UNTIL_STOPPED}")
    job.wait_for_log("ready")
    channel = ray_engine.open_channel(job.handles[0], ["sh", "-c", "read word; echo got $word; exit 3"], None)
    assert channel.write(b"hello\n") == 6
    assert channel.read(100) == b"got hello\n"
    assert channel.read(100) == b""
    assert channel.exit_code() == 3
    channel.close()
    terminal = ray_engine.open_channel(job.handles[0], ["sh", "-c", "stty size"], TerminalSize(20, 70))
    assert terminal.read(100) == b"20 70\r\n"
    terminal.close()
    starter.clean_up()


def test_a_cluster_with_a_token_is_not_open(ray_engine: RayEngine, cluster: RayCluster) -> None:
    assert not is_open(cluster.address)


@pytest.mark.long
def test_a_cluster_without_a_token_is_refused_unless_that_is_wanted() -> None:
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
    with running_ray(folder, workers=["one"], has_token=False) as opened, pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("RAY_")]:
            patch.delenv(name)
        for name, value in opened.server_env.items():
            patch.setenv(name, value)
        settings = EngineSettings(work_dir=folder, ray_address=opened.address, node_dir=folder / "nodes")
        with pytest.raises(InvalidInput, match="RAY_AUTH_MODE=token, or say --insecure-ray"):
            RayEngine.create(settings)
        children = subprocess.run(["ps", "-o", "args", "--ppid", str(os.getpid())], capture_output=True, check=True)
        assert b"danlu.engines.ray.driver" not in children.stdout
        engine = RayEngine.create(settings.model_copy(update={"insecure_ray": True}))
        assert [node.name for node in engine.nodes()] == [opened.machines.addresses["one"]]
        engine.close()
    shutil.rmtree(folder, ignore_errors=True)


def test_others_who_hold_something_are_seen_and_nothing_of_theirs_is_given(
    ray_engine: RayEngine, cluster: RayCluster
) -> None:
    before = {node.name: node.cpus for node in ray_engine.nodes()}
    address = cluster.machines.addresses["one"]
    with other_ray_user(cluster, address) as other:
        wait_until(lambda: told(ray_engine, address), ray_engine.nodes)
        seen = {node.name: node.cpus for node in ray_engine.nodes()}
        assert (before[address] - seen[address], before[address]) == (1.0, 2.0)
        assert "1 CPU" in told(ray_engine, address)
        other.terminate()
    wait_until(lambda: not told(ray_engine, address), ray_engine.nodes)


def told(engine: RayEngine, node: str) -> str:
    """What is said of other users on a node."""
    (info,) = [info for info in engine.nodes() if info.name == node]
    return " ".join(sentence for sentence in info.missing if "Other users" in sentence)


@contextmanager
def other_ray_user(cluster: RayCluster, address: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that holds one CPU of a node until it is ended."""
    script = (
        "import ray, signal, sys\n"
        "ray.init(address=sys.argv[1], log_to_driver=False)\n"
        "@ray.remote(num_cpus=1, resources={f'node:{sys.argv[2]}': 0.01})\n"
        "class Holder:\n"
        "    def ready(self): return True\n"
        "holder = Holder.remote()\n"
        "ray.get(holder.ready.remote())\n"
        "signal.pause()\n"
    )
    command = [*cluster.machines.within(HEAD), sys.executable, "-c", script, cluster.address, address]
    with subprocess.Popen(command, env=cluster.env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        yield process


class TestRayEngine(EngineContract):
    @pytest.fixture
    def engine(self, ray_engine: RayEngine) -> Engine:
        return ray_engine

    @pytest.fixture(autouse=True)
    def _remember(self, cluster: RayCluster, folder: Path) -> Iterator[None]:
        self._opened: list[RayEngine] = []
        self._where = cluster, folder
        yield
        for engine in self._opened:
            engine.close()

    @pytest.fixture
    def store(self, cluster: RayCluster) -> Iterator[StoreServer]:
        with running_store(cluster.machines.addresses[HEAD]) as store:
            yield store

    def reopen(self, engine: Engine) -> Engine:
        self._opened.append(open_engine(*self._where))
        return self._opened[-1]
