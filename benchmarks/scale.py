"""How far one server goes: nodes and running tasks that do not exist (`danlu.testing.simulated`), all the rest real.

For each size: how long a list of jobs takes, how long a new job waits for the first decision about it, the
memory of the server, and what it works and writes while nothing changes. The slopes say what comes first. Run nothing
else meanwhile. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from danlu.client import Client
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer
from danlu.testing.simulated import NUM_NODES

SIZES = ((10, 20), (100, 200), (1000, 2000), (5000, 10000))
"""Nodes, and tasks that run on them."""

QUICK_SIZES = ((10, 20), (100, 200))
GATE_SIZE, GOAL_SIZE = (1000, 2000), (5000, 10000)
LIST_GATE_SECONDS, DECISION_GATE_SECONDS = 0.1, 1.0
FOR_EVER = "sleep 36000000"
NUM_LISTS, NUM_SUBMITS = 50, 10
IDLE_SECONDS = 20.0
SUBMITTERS = 8


@dataclass(frozen=True)
class Measured:
    nodes: int
    tasks: int
    list_p95_seconds: float
    decision_p95_seconds: float
    memory_bytes: int
    cpu_share: float
    """Of one core, while nothing changes."""

    written_bytes_per_second: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    sizes = QUICK_SIZES if parser.parse_args().quick else SIZES
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    print(f"{'nodes':>6} {'tasks':>6} {'list p95':>9} {'decision':>9} {'memory':>8} {'cores':>6} {'written/s':>10}")
    measured = [_show(_measure(nodes, tasks)) for nodes, tasks in sizes]
    figures = [figure for one in measured for figure in _figures(one)]
    print(json.dumps({"bench": "scale", "figures": figures, "measured": [asdict(one) for one in measured]}))


def _show(one: Measured) -> Measured:
    print(
        f"{one.nodes:>6} {one.tasks:>6} {one.list_p95_seconds * 1000:>6.0f} ms {one.decision_p95_seconds:>7.2f} s "
        f"{one.memory_bytes / 2**20:>4.0f} MiB {one.cpu_share:>6.2f} {one.written_bytes_per_second / 1024:>6.0f} KiB",
        flush=True,
    )
    return one


def _figures(one: Measured) -> list[dict[str, object]]:
    if (one.nodes, one.tasks) not in (GATE_SIZE, GOAL_SIZE):
        return []
    size = f"{one.nodes} nodes, {one.tasks} tasks"
    kind = "gate" if (one.nodes, one.tasks) == GATE_SIZE else "goal"
    return [
        {"name": f"list p95 seconds, {size}", "value": one.list_p95_seconds, kind: LIST_GATE_SECONDS},
        {"name": f"submit to decision seconds, {size}", "value": one.decision_p95_seconds, kind: DECISION_GATE_SECONDS},
    ]


def _measure(nodes: int, tasks: int) -> Measured:
    folder = Path(tempfile.mkdtemp(prefix="danlu-bench-"))
    # `within` leads to a process of its own, which finds the engine by its entry point
    server = RunningServer(folder / "data", "--engine", "simulated", "--max-tasks", "64", within=("env",))
    server.env = {NUM_NODES: str(nodes), "PYTHONPATH": str(_plugin(folder / "plugin"))}
    try:
        server.start()
        with server.client() as client:
            _fill(client, tasks)
            return _look(server, client, nodes=nodes, tasks=tasks)
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _plugin(folder: Path) -> Path:
    """What an installed package with an engine looks like."""
    described = folder / "simulated-1.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: simulated\nVersion: 1\n")
    entry = "simulated = danlu.testing.simulated:SimulatedEngine"
    (described / "entry_points.txt").write_text(f"[danlu.engines]\n{entry}\n")
    return folder


def _fill(client: Client, tasks: int) -> None:
    """Have so many tasks run, each a job of its own."""
    with ThreadPoolExecutor(SUBMITTERS) as pool:
        list(pool.map(lambda number: client.jobs.submit(name=f"fill-{number}", command=FOR_EVER), range(tasks)))
    while sum(node.num_tasks for node in client.nodes()) < tasks:
        time.sleep(0.5)


def _look(server: RunningServer, client: Client, *, nodes: int, tasks: int) -> Measured:
    decisions = [_decision_seconds(client, number) for number in range(NUM_SUBMITS)]
    lists = [_list_seconds(client) for _ in range(NUM_LISTS)]
    before = server.cpu_seconds(), _written(server.pid)
    time.sleep(IDLE_SECONDS)
    after = server.cpu_seconds(), _written(server.pid)
    return Measured(
        nodes=nodes,
        tasks=tasks,
        list_p95_seconds=_p95(lists),
        decision_p95_seconds=_p95(decisions),
        memory_bytes=_memory(server.pid),
        cpu_share=(after[0] - before[0]) / IDLE_SECONDS,
        written_bytes_per_second=(after[1] - before[1]) / IDLE_SECONDS,
    )


def _decision_seconds(client: Client, number: int) -> float:
    """From the submit until it is told where the job starts or why it waits."""
    began = time.monotonic()
    job = client.jobs.submit(name=f"timed-{number}", command=FOR_EVER)
    while job.refresh().state is JobState.QUEUED and job.reason.code == "submitted":
        time.sleep(0.005)
    return time.monotonic() - began


def _list_seconds(client: Client) -> float:
    """One page, as the console's first page asks for it."""
    began = time.monotonic()
    next(iter(client.jobs.list()))
    return time.monotonic() - began


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def _memory(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _written(pid: int) -> int:
    """Bytes that the process has handed to the kernel: database, logs, all of it."""
    for line in Path(f"/proc/{pid}/io").read_text().splitlines():
        if line.startswith("wchar:"):
            return int(line.split()[1])
    return 0


if __name__ == "__main__":
    main()
