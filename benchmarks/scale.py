"""Behaviour of one server as nodes and jobs grow. Nodes are simulated; server, database and requests are real.

Every node has two tasks with half of its devices each, so the cluster is full; half of the tasks are jobs of one task,
the others gangs of four. Then a user lists jobs and submits new ones, every second of which must wait. Figures without
a gate are for information only. Run nothing else meanwhile. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import shutil
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

from danlu.client import Client, Job
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

TIMED_SERVER = Path(__file__).parent / "scale" / "timed_server.py"
TASKS_PER_NODE = 2
GANG = 4
NEVER_ENDS = "sleep 1000000"
HALF_A_NODE = {"device": "npu:4"}
LIST_SECONDS, DECISION_SECONDS = 0.1, 1.0
QUIET_SECONDS = 15.0
SHM_COUNTER = 8
"""Offset of the transaction counter in the shared memory of SQLite's log: https://sqlite.org/walformat.html."""


@dataclass(frozen=True)
class Size:
    nodes: int
    waiting: int = 0

    @property
    def tasks(self) -> int:
        return self.nodes * TASKS_PER_NODE

    def __str__(self) -> str:
        waiting = f", {self.waiting} waiting jobs" if self.waiting else ""
        return f"{self.nodes} nodes, {self.tasks} running tasks{waiting}"


@dataclass(frozen=True)
class Seen:
    """Measurements at one size."""

    size: Size
    num_jobs: int
    fill_seconds: float
    tick_seconds: float
    """Median of scheduler ticks while nothing changes."""

    tick_p95_seconds: float
    cpu_share: float
    """Share of one core while nothing changes and there are no requests."""

    writes_per_second: float
    list_p95_seconds: float
    submit_p95_seconds: float
    decision_p95_seconds: float
    """From the start of a submit until a client can read that the job starts, or why it waits."""

    memory_bytes: int


def main() -> None:
    options = _options()
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    sizes = [Size(10), Size(100), Size(1000)]
    sizes += [Size(1000, waiting=1000)] if options.quick else [Size(1000, waiting=8750), Size(5000)]
    if options.nodes:
        sizes = [Size(options.nodes, waiting=options.waiting)]
    seen = {}
    for size in sizes:
        seen[size] = measure(size, num_probes=20 if options.quick else 60)
        print(_told(seen[size]), flush=True)
    figures = gates(list(seen.values())) + ([] if options.nodes else slopes(list(seen.values())))
    for figure in figures:
        print(f"{figure['name']:<52} {figure['value']:>10.3f}   gate {figure['gate']}   goal {figure['goal']}")
    print(json.dumps({"bench": "scale", "figures": figures}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 1,000 nodes, and fewer requests")
    parser.add_argument("--nodes", type=int, default=0, help="only this many nodes")
    parser.add_argument("--waiting", type=int, default=0, help="with --nodes: so many jobs wait")
    return parser.parse_args()


def measure(size: Size, *, num_probes: int) -> Seen:
    """Fill a cluster of this size, leave it idle for a while, then send requests."""
    folder = Path(tempfile.mkdtemp(prefix="danlu-scale-"))
    ticks = folder / "ticks"
    server = RunningServer(folder / "data", "--engine", "simulated", within=(sys.executable, str(TIMED_SERVER)))
    server.env = {"DANLU_SIMULATED_NODES": str(size.nodes), "DANLU_BENCH_TICKS": str(ticks)}
    server.start()
    try:
        with server.client() as client:
            began = time.monotonic()
            num_jobs = fill(client, size)
            fill_seconds = time.monotonic() - began
            quiet = leave_alone(server, ticks)
            listed = list_seconds(client, 200)
            submitted, decided = submit_some(client, num_probes)
            return Seen(
                size=size,
                num_jobs=num_jobs,
                fill_seconds=fill_seconds,
                tick_seconds=statistics.median(quiet.ticks),
                tick_p95_seconds=_p95(quiet.ticks),
                cpu_share=quiet.cpu_share,
                writes_per_second=quiet.writes_per_second,
                list_p95_seconds=_p95(listed),
                submit_p95_seconds=_p95(submitted),
                decision_p95_seconds=_p95(decided),
                memory_bytes=_memory_bytes(server.pid),
            )
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def fill(client: Client, size: Size) -> int:
    """Submit the running and the queued jobs; return their number when all are in place."""
    num_gangs = size.tasks // 2 // GANG
    num_singles = size.tasks - num_gangs * GANG
    running = _submit_many(client, [GANG] * num_gangs + [1] * num_singles)
    while any(client.jobs.list(state=(JobState.QUEUED, JobState.STARTING), limit=1)):
        time.sleep(1.0)
    waiting = _submit_many(client, [1] * size.waiting)
    while any(job.refresh().reason.code == "submitted" for job in waiting[-1:]):
        time.sleep(0.1)
    return len(running) + len(waiting)


def _submit_many(client: Client, sizes: Sequence[int]) -> list[Job]:
    def submit(nodes: int) -> Job:
        return client.jobs.submit(name="load", command=NEVER_ENDS, nodes=nodes, resources=HALF_A_NODE)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(submit, sizes))


@dataclass(frozen=True)
class Quiet:
    ticks: list[float]
    cpu_share: float
    writes_per_second: float


def leave_alone(server: RunningServer, ticks: Path) -> Quiet:
    """Measure the server while it is idle."""
    time.sleep(5.0)
    known, used, written = len(ticks.read_text().splitlines()), server.cpu_seconds(), _transactions(server)
    time.sleep(QUIET_SECONDS)
    looks = [float(line.split()[0]) for line in ticks.read_text().splitlines()[known:]]
    return Quiet(
        ticks=looks or [float("nan")],
        cpu_share=(server.cpu_seconds() - used) / QUIET_SECONDS,
        writes_per_second=(_transactions(server) - written) / QUIET_SECONDS,
    )


def list_seconds(client: Client, times: int) -> list[float]:
    """List pages of 100 jobs, over several ticks of the scheduler."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        assert len(list(client.jobs.list(limit=100))) > 0
        taken.append(time.perf_counter() - began)
        time.sleep(0.05)
    return taken


def submit_some(client: Client, times: int) -> tuple[list[float], list[float]]:
    """Submit in sequence; return the times until the answers, and until the first decisions."""
    answered, decided, jobs = [], [], []
    for number in range(times):
        wanted = {"resources": HALF_A_NODE} if number % 2 else {}
        began = time.perf_counter()
        job = client.jobs.submit(name="probe", command=NEVER_ENDS, **wanted)
        answered.append(time.perf_counter() - began)
        while job.refresh().reason.code == "submitted":
            time.sleep(0.01)
        decided.append(time.perf_counter() - began)
        jobs.append(job)
        time.sleep(0.3)
    client.jobs.stop([job.id for job in jobs])
    return answered, decided


def gates(seen: Sequence[Seen]) -> list[dict[str, object]]:
    figures = []
    for one in seen:
        is_goal, is_gate = one.size == Size(5000), one.size == Size(1000)
        limits = {"list_p95_seconds": LIST_SECONDS, "decision_p95_seconds": DECISION_SECONDS}
        place = f"{one.size.nodes}_nodes_{one.num_jobs}_jobs"
        for name, limit in limits.items():
            goal = limit if is_goal or is_gate else None
            figures.append(_figure(f"{name}_{place}", getattr(one, name), limit if is_gate else None, goal))
        for name in ("tick_seconds", "submit_p95_seconds", "cpu_share", "writes_per_second"):
            figures.append(_figure(f"{name}_{place}", getattr(one, name), None, None))
        figures.append(_figure(f"memory_mib_{place}", one.memory_bytes / 2**20, None, None))
    return figures


def slopes(seen: Sequence[Seen]) -> list[dict[str, object]]:
    """Exponent by which a figure grows with the size: 0 is constant, 1 is proportional."""
    by_nodes = [one for one in seen if one.size.waiting == 0 and one.size.nodes <= 1000]
    by_jobs = [one for one in seen if one.size.nodes == 1000]
    figures = []
    for name in ("tick_seconds", "list_p95_seconds", "submit_p95_seconds", "decision_p95_seconds", "memory_bytes"):
        for axis, found, size in (
            ("nodes", by_nodes, lambda one: one.size.nodes),
            ("jobs", by_jobs, lambda one: one.num_jobs),
        ):
            first, last = found[0], found[-1]
            slope = log(getattr(last, name) / getattr(first, name)) / log(size(last) / size(first))
            figures.append(_figure(f"slope_of_{name}_by_{axis}", slope, None, None))
    return figures


def _told(one: Seen) -> str:
    def ms(seconds: float) -> str:
        return f"{seconds * 1000:.0f} ms"

    return (
        f"{one.size}: filled in {one.fill_seconds:.0f} s ({one.num_jobs} jobs)\n"
        f"  quiet: a look {ms(one.tick_seconds)} (p95 {ms(one.tick_p95_seconds)}), {one.cpu_share:.1%} of a core, "
        f"{one.writes_per_second:.1f} transactions/s, {one.memory_bytes / 2**20:.0f} MiB\n"
        f"  p95: list {ms(one.list_p95_seconds)}, submit {ms(one.submit_p95_seconds)}, "
        f"first decision {ms(one.decision_p95_seconds)}"
    )


def _transactions(server: RunningServer) -> int:
    """Return the number of transactions that the database has written, modulo 2^32."""
    shared = (server.data_dir / "server" / "danlu.db-shm").read_bytes()
    counter: int = struct.unpack_from("=I", shared, SHM_COUNTER)[0]
    return counter


def _memory_bytes(pid: int) -> int:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) << 10


def _p95(values: list[float]) -> float:
    return sorted(values)[max(0, int(len(values) * 0.95) - 1)]


def _figure(name: str, value: float, gate: float | None, goal: float | None) -> dict[str, object]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal}


if __name__ == "__main__":
    main()
