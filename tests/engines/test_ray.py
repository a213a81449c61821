"""The Ray engine on a real cluster of three nodes, each with a network and an address of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.machines import can_make_machines
from tests.support.ray_cluster import HEAD, RayCluster, running_ray

from danlu.client import Client
from danlu.engines.base import Engine
from danlu.engines.ray import RayEngine
from danlu.engines.settings import EngineSettings
from danlu.spec.states import JobState
from danlu.testing.engine_contract import EngineContract
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
print("sum", repr(sum(float(parameter.sum()) for parameter in model.parameters())), flush=True)
print("nice", os.nice(0), "ray", [name for name in os.environ if "RAY" in name], flush=True)
with open(os.path.join(os.environ["DANLU_OUTPUT_DIR"], f"{dist.get_rank()}.txt"), "w") as file:
    file.write(os.environ["DANLU_NODE"])
dist.barrier()
dist.destroy_process_group()
"""
TORCHRUN = (
    "torchrun --nnodes 2 --nproc-per-node 2 --node-rank $INDEX --master-addr $CHIEF_IP --master-port 23456 train.py"
)


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
    running = RunningServer(folder / "data", *cluster.server_options, within=cluster.machines.within(HEAD))
    running.env = cluster.server_env
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
    jobs = [
        ray_client.jobs.submit(
            name=f"gang-{number}", command=TORCHRUN, nodes=2, launch="ddp", code={"path": str(tmp_path)}
        )
        for number in range(2)
    ]
    for job in jobs:
        assert job.wait().state is JobState.SUCCEEDED, list(job.logs())
        said = [line.text.strip() for line in job.logs()]
        sums = [line for line in said if line.startswith("sum")]
        assert len(sums) == 4
        assert len(set(sums)) == 1
        assert said.count("nice 0 ray []") == 4
        bucket, _, prefix = job.output.removeprefix("store://").partition("/")
        found = {item.key for item in ray_client.store.list(f"store://{bucket}/{prefix}")}
        assert {f"{prefix}{rank}.txt" for rank in range(4)} <= found


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
