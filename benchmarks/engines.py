"""The Ray engine beside Ray itself, on three nodes that are network namespaces of this machine. Needs root.

    first line    from submit to the first line of user code: Ray Jobs / Danlu, on a warm cluster
    log bytes     logs of 8 ranks to a reader / a file of the same length through one Ray actor
    all-reduce    over the private network of a gang / over the network of the nodes

Run nothing else meanwhile. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # machines and clusters are in tests/support

from tests.support.ray_cluster import HEAD, RayCluster, running_ray

from danlu.client import Client
from danlu.engines.ray import RayEngine
from danlu.engines.settings import EngineSettings
from danlu.spec.states import JobState
from danlu.testing.engines import Starter
from danlu.testing.serving import RunningServer

CLOCK = "import time; print(time.time())"
NUM_RANKS = 8
PIECE_BYTES = 4 << 20
READERS = 2
"""As many threads as the server copies logs with."""

RAY_JOBS = """
import sys, time
from ray.job_submission import JobSubmissionClient, JobStatus
client = JobSubmissionClient(f"http://{sys.argv[1]}:8265")
for _ in range(int(sys.argv[2])):
    began = time.time()
    job = client.submit_job(entrypoint="python3 -c '" + sys.argv[3] + "'")
    while not client.get_job_status(job).is_terminal():
        time.sleep(0.05)
    line = [line for line in client.get_job_logs(job).splitlines() if line.replace(".", "").isdigit()][-1]
    print(float(line) - began, flush=True)
"""
ACTOR_COPY = """
import sys, time, ray
ray.init(address=sys.argv[1], log_to_driver=False)
@ray.remote(num_cpus=0, resources={f"node:{sys.argv[2]}": 0.001})
class Reader:
    def read(self, path, offset, limit):
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(limit)
reader = Reader.remote()
ray.get(reader.read.remote(sys.argv[3], 0, 1))
began, offset = time.monotonic(), 0
while piece := ray.get(reader.read.remote(sys.argv[3], offset, int(sys.argv[4]))):
    offset += len(piece)
print(offset / (time.monotonic() - began))
"""
ALL_REDUCE = """
import sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
value = torch.ones(int(sys.argv[1]) << 18)
dist.all_reduce(value)
began = time.monotonic()
for _ in range(5):
    dist.all_reduce(value)
print("seconds", (time.monotonic() - began) / 5, flush=True)
dist.barrier()
dist.destroy_process_group()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, fewer bytes")
    is_quick = parser.parse_args().quick
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
    try:
        with running_ray(folder, has_dashboard=True) as cluster:
            figures = [
                _first_line(cluster, folder, rounds=3 if is_quick else 15),
                _log_bytes(cluster, folder, mebibytes=8 if is_quick else 64),
                _all_reduce(cluster, folder, mebibytes=4 if is_quick else 64),
            ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for figure in figures:
        print(f"{figure['name']:<60} {figure['value']:>8.3f}   gate {figure['gate']}   goal {figure['goal']}")
    print(json.dumps({"bench": "engines", "figures": figures}))


def _figure(name: str, value: float, gate: float | None = None, goal: float | None = None) -> dict[str, object]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal}


def _first_line(cluster: RayCluster, folder: Path, *, rounds: int) -> dict[str, object]:
    with _server(cluster, folder / "first") as client:
        _danlu_seconds(client)  # warm
        ours = statistics.median(_danlu_seconds(client) for _ in range(rounds))
    said = _script(cluster, RAY_JOBS, cluster.machines.addresses[HEAD], str(rounds + 1), CLOCK)
    theirs = statistics.median([float(line) for line in said.split()][1:])
    print(f"first line of user code: Danlu {ours:.2f} s, Ray Jobs {theirs:.2f} s")
    return _figure("first line: Ray Jobs / Danlu", theirs / ours, gate=2.5, goal=4.0)


def _danlu_seconds(client: Client) -> float:
    began = time.time()
    job = client.jobs.submit(name="clock", command=["python3", "-c", CLOCK]).wait()
    return float(b"".join(job.raw_log())) - began


def _log_bytes(cluster: RayCluster, folder: Path, *, mebibytes: int) -> dict[str, object]:
    os.environ.update(cluster.server_env)
    engine = RayEngine.create(
        EngineSettings(
            work_dir=folder, server_id="bench", ray_address=cluster.address, node_dir=folder / "nodes", max_tasks=16
        )
    )
    starter = Starter(engine)
    job = starter.start(f"head -c {mebibytes << 20} /dev/zero | tr '\\0' x", nodes=NUM_RANKS)
    job.wait()
    began = time.monotonic()
    with ThreadPoolExecutor(READERS) as pool:
        total = sum(pool.map(lambda rank: _read(engine, job.handles[rank]), range(NUM_RANKS)))
    ours = total / (time.monotonic() - began)
    starter.clean_up()
    engine.close()
    file = folder / "as-long"
    file.write_bytes(b"x" * total)
    theirs = float(
        _script(cluster, ACTOR_COPY, cluster.address, cluster.machines.addresses["one"], str(file), str(PIECE_BYTES))
    )
    print(f"log bytes: Danlu {ours / 2**20:.0f} MiB/s, one actor {theirs / 2**20:.0f} MiB/s")
    return _figure("log bytes of 8 ranks / a file through one actor", ours / theirs, gate=0.5, goal=0.8)


def _read(engine: RayEngine, handle: object) -> int:
    offset = 0
    while piece := engine.read_log(handle, offset, PIECE_BYTES):  # type: ignore[arg-type]
        offset += len(piece)
    return offset


def _all_reduce(cluster: RayCluster, folder: Path, *, mebibytes: int) -> dict[str, object]:
    with _server(cluster, folder / "private") as client:
        private = _reduce_seconds(client, folder, mebibytes)
    with _server(cluster, folder / "host", "--no-own-network") as client:
        host = _reduce_seconds(client, folder, mebibytes)
    print(f"all-reduce of {mebibytes} MiB: private network {private:.3f} s, network of the nodes {host:.3f} s")
    return _figure("all-reduce: private network / network of the nodes", private / host)


def _reduce_seconds(client: Client, folder: Path, mebibytes: int) -> float:
    code = folder / "reduce"
    code.mkdir(exist_ok=True)
    (code / "reduce.py").write_text(ALL_REDUCE)
    job = client.jobs.submit(
        name="reduce", command=f"python3 reduce.py {mebibytes}", nodes=2, launch="ddp", code={"path": str(code)}
    ).wait()
    if job.state is not JobState.SUCCEEDED:
        raise RuntimeError(f"{job.reason}: {list(job.logs(tail=20))}")
    return max(float(line.text.split()[1]) for line in job.logs() if line.text.startswith("seconds"))


@contextmanager
def _server(cluster: RayCluster, data: Path, *options: str) -> Iterator[Client]:
    server = RunningServer(data, *cluster.server_options, *options, within=cluster.machines.within(HEAD))
    server.env = cluster.server_env
    try:
        server.start()
        with server.client() as client:
            yield client
    finally:
        server.stop()


def _script(cluster: RayCluster, script: str, *words: str) -> str:
    """Run a program on the head and return what it said."""
    command = [*cluster.machines.within(HEAD), sys.executable, "-c", script, *words]
    done = subprocess.run(command, env=cluster.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return done.stdout.decode()


if __name__ == "__main__":
    main()
