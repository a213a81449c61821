"""Overhead of the Ray engine compared with Ray itself, on the same cluster: a head and two nodes in network namespaces.

- time from submit to the first line of user code, compared with Ray Jobs;
- logs of 8 ranks that write as fast as they can, to one reader, compared with copying a file through one Ray actor,
  both in pieces of 4 MiB;
- all-reduce over a gang's private network (VXLAN), compared with the nodes' own network.

Both sides alternate. Needs root and Ray. Run nothing else meanwhile. The last line printed is JSON.
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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from danlu.client import Client, Job
from danlu.spec.states import JobState
from danlu.testing.machines import can_make_machines
from danlu.testing.ray_cluster import HEAD, RayCluster, running_ray
from danlu.testing.serving import RunningServer

PEERS = Path(__file__).parent / "engines"
DASHBOARD_PORT = 8265
FIRST_LINE = "import time; print(time.time(), flush=True)\n"
NUM_RANKS = 8
PIECE_BYTES = 4 << 20
LINE_BYTES = 100
CHATTY = """
import os, socket, sys, time
line = "x" * 99 + "\\n"
block = line * 10000
meet = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":  # all begin together: how long processes take to start is not measured here
    with socket.create_server(meet, backlog=64) as server:
        for other in [server.accept()[0] for _ in range(int(os.environ["WORLD_SIZE"]) - 1)]:
            other.close()
else:
    while True:
        try:
            socket.create_connection(meet).recv(1)
            break
        except OSError:
            time.sleep(0.05)
print(f"{time.time():.6f}".ljust(99, "."), flush=True)
for _ in range(int(sys.argv[1])):
    sys.stdout.write(block)
sys.stdout.flush()
"""
ALL_REDUCE = """
import statistics, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
values = torch.ones(4 << 20)
taken = []
for number in range(12):
    dist.barrier()
    began = time.perf_counter()
    dist.all_reduce(values)
    if number >= 2:
        taken.append(time.perf_counter() - began)
if dist.get_rank() == 0:
    print("median", statistics.median(taken), flush=True)
dist.destroy_process_group()
"""
TORCHRUN = (
    "torchrun --nnodes 2 --nproc-per-node 1 --node-rank $RANK "
    "--master-addr $MASTER_ADDR --master-port $MASTER_PORT reduce.py"
)


def main() -> None:
    options = _options()
    if not can_make_machines():
        sys.exit("this needs root and iproute2: every node has a network of its own")
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # Ray's sockets need short paths
    figures = []
    try:
        with running_ray(folder, has_dashboard=True) as cluster:
            server = RunningServer(folder / "data", *cluster.server_options, within=cluster.machines.within(HEAD))
            server.env = {**cluster.server_env, "DANLU_SERVER_HOST_NETWORK": "true"}
            server.start()
            try:
                with server.client() as client:
                    if "latency" in options.only:
                        figures += measure_latency(cluster, client, repeats=5 if options.quick else 15)
                    if "logs" in options.only:
                        figures += measure_logs(cluster, client, num_blocks=20 if options.quick else 60, repeats=3)
                    if "network" in options.only:
                        figures += measure_network(client, folder, repeats=2 if options.quick else 5)
            finally:
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for figure in figures:
        print(f"{figure['name']:<52} {figure['value']:>10.3f}   gate {figure['gate']}   goal {figure['goal']}")
    print(json.dumps({"bench": "engines", "figures": figures}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parts = ["latency", "logs", "network"]
    parser.add_argument("--only", nargs="+", choices=parts, default=parts, help="measure only these")
    return parser.parse_args()


class Peer:
    """A Ray program on the head that performs its operation once per input line, and prints the seconds."""

    def __init__(self, cluster: RayCluster, script: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [*cluster.machines.within(HEAD), sys.executable, str(PEERS / script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=cluster.env,
        )

    def once(self) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


def measure_latency(cluster: RayCluster, client: Client, *, repeats: int) -> list[dict[str, object]]:
    code = _code(cluster.folder, "first", {"first_line.py": FIRST_LINE})
    dashboard = f"http://{cluster.machines.addresses[HEAD]}:{DASHBOARD_PORT}"
    peer = Peer(cluster, "ray_jobs.py", dashboard, str(code))

    def danlu() -> float:
        began = time.time()
        job = _run(client, name="first-line", command="python3 first_line.py", code={"path": str(code)})
        return float(next(iter(job.logs())).text) - began

    try:
        ours, theirs = _in_turn(danlu, peer.once, repeats=repeats)
    finally:
        peer.stop()
    print(f"submit to first line: danlu {_spread(ours)}, ray jobs {_spread(theirs)}")
    return [
        _figure("submit_to_first_line_seconds", statistics.median(ours), None, None),
        _figure("times_faster_than_ray_jobs", statistics.median(theirs) / statistics.median(ours), 2.5, 4.0),
    ]


def measure_logs(cluster: RayCluster, client: Client, *, num_blocks: int, repeats: int) -> list[dict[str, object]]:
    """Bytes per second from the first line that any rank writes until the reader has the last byte of all."""
    code = _code(cluster.folder, "chatty", {"chatty.py": CHATTY})
    size = (num_blocks * 10_000 + 1) * LINE_BYTES
    whole = cluster.folder / "whole"
    whole.write_bytes(b"x" * (size * NUM_RANKS))
    node = cluster.machines.addresses["one"]
    peer = Peer(cluster, "actor_copy.py", cluster.address, node, str(whole), str(cluster.folder / "copy"))

    def danlu() -> float:
        job = client.jobs.submit(
            name="chatty",
            command=f"python3 chatty.py {num_blocks}",
            launch="ddp",
            nodes=NUM_RANKS,
            code={"path": str(code)},
        )
        begun = _read_to_end(job, size)
        seconds = time.time() - begun
        assert job.wait(timeout=120).state is JobState.SUCCEEDED, job.reason
        return seconds

    try:
        ours, theirs = _in_turn(danlu, peer.once, repeats=repeats)
    finally:
        peer.stop()
    total = size * NUM_RANKS / 2**20
    print(f"{total:.0f} MiB of log: danlu {_spread(ours)}, a file through an actor {_spread(theirs)}")
    return [
        _figure("log_mib_per_second", total / statistics.median(ours), None, None),
        _figure("log_speed_of_actor_copy", statistics.median(theirs) / statistics.median(ours), 0.5, 0.8),
    ]


def _read_to_end(job: Job, size: int) -> float:
    """Read all logs while they are written, until they are complete; return the time of the first line."""
    begins: list[float] = []
    read = [0] * NUM_RANKS
    while any(offset < size for offset in read):
        before = list(read)
        for rank in [rank for rank, offset in enumerate(read) if offset < size]:
            piece = job.log_piece(rank, read[rank], limit=PIECE_BYTES)
            if piece.data and not read[rank]:
                begins.append(float(piece.data[:LINE_BYTES].decode().rstrip(".\n")))
            read[rank] += len(piece.data)
        if read == before:
            time.sleep(0.05)
    return min(begins)


def measure_network(client: Client, folder: Path, *, repeats: int) -> list[dict[str, object]]:
    """All-reduce of 16 MiB with gloo between two nodes. Both share the cores of this machine."""
    code = _code(folder, "reduce", {"reduce.py": ALL_REDUCE})

    def seconds(network: str) -> float:
        fields = {"nodes": 2, "launch": "ddp", "network": network, "code": {"path": str(code)}}
        job = _run(client, name="reduce", command=TORCHRUN, **fields)
        (said,) = job.logs(rank=0, grep="^median ")
        return float(said.text.split()[1])

    own, host = _in_turn(lambda: seconds("own"), lambda: seconds("host"), repeats=repeats)
    print(f"16 MiB all-reduce: private network {_spread(own)}, host network {_spread(host)}")
    return [_figure("all_reduce_seconds_vxlan_of_host", statistics.median(own) / statistics.median(host), None, None)]


def _run(client: Client, **fields: object) -> Job:
    job = client.jobs.submit(**fields)  # type: ignore[arg-type]
    assert job.wait(timeout=300).state is JobState.SUCCEEDED, (job.reason, [line.text for line in job.logs(tail=20)])
    return job


def _in_turn(
    ours: Callable[[], float], theirs: Callable[[], float], *, repeats: int
) -> tuple[list[float], list[float]]:
    """Alternate between both sides, after one round for one-time setup."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(repeats)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _code(folder: Path, name: str, files: Mapping[str, str]) -> Path:
    made = folder / f"code-{name}"
    made.mkdir()
    for file, text in files.items():
        (made / file).write_text(text)
    return made


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.3f} s ({min(values):.3f} to {max(values):.3f}, n={len(values)})"


def _figure(name: str, value: float, gate: float | None, goal: float | None) -> dict[str, object]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal}


if __name__ == "__main__":
    main()
