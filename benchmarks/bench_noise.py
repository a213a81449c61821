"""How much `danlu bench` varies between runs on one machine, and whether `danlu bench admit` detects a slowed node.

    python benchmarks/bench_noise.py [--quick]

Suites run as two tasks on this machine. `admit` judges the two nodes of another server, both on this machine, with a
core each if it has two. A slowed node loses 20 % of its CPU time: its ranks are stopped for a fifth of every 50 ms.
Healthy and slowed runs alternate, so that changes on the machine affect both. Each run is judged like in `admit`, by
all earlier runs, including those of slowed nodes.

`--quick` uses smaller suites, two pairs of runs of each, and as many runs of `admit`. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from danlu.bench import runs
from danlu.bench.admission import Judged
from danlu.bench.admitting import Rules, admit
from danlu.bench.suite import Mode, find_suite, read_suite
from danlu.client import Client
from danlu.testing.serving import RunningServer
from danlu.testing.several_nodes import server_with_nodes

SUITES = ("allreduce", "matmul", "memory", "storage", "dataload", "resnet-like", "transformer-like")
SMALL = {
    "allreduce": ["sizes=[4096, 1048576]"],
    "matmul": ["size=512", "steps=200"],
    "memory": ["megabytes=64"],
    "storage": ["megabytes=32", "files=100"],
    "dataload": ["samples=128"],
    "resnet-like": ["steps=15", "warmup=3"],
    "transformer-like": ["steps=20", "warmup=3"],
}
NUM_NODES, NUM_HEALTHY, NUM_SLOWED = 2, 20, 10
PERIOD_SECONDS, SLOWED = 0.05, 0.2
MARK = f"NOISE-{uuid.uuid4().hex}"
"""In the environment of our ranks, so that no other process is ever stopped."""

ADMITTED = [f"env.NOISE={MARK}", "parameters.size=512", "parameters.steps=250"]
"""More than half a second, so that it covers many periods of a slowed node."""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="smaller suites, and two pairs of runs of each")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory(prefix="bench-noise-") as folder:
        with _serving(RunningServer(Path(folder) / "one" / "data")) as client:
            figures = [_noise(client, name, 2 if quick else 5, quick=quick) for name in SUITES]
        with _serving(server_with_nodes(Path(folder), NUM_NODES)) as client:
            figures += _named(client)
    print(json.dumps({"bench": "bench_noise", "figures": figures}))
    return 0


@contextmanager
def _serving(server: RunningServer) -> Iterator[Client]:
    server.data_dir.parent.mkdir(exist_ok=True)
    server.start()
    try:
        with server.client() as client:
            yield client
    finally:
        server.stop()


def _noise(client: Client, name: str, num_pairs: int, *, quick: bool) -> dict[str, Any]:
    """Relative difference of two consecutive runs: the median over pairs."""
    suite = read_suite(find_suite(name), [f"parameters.{one}" for one in SMALL[name]] if quick else [])
    found = []
    for _ in range(num_pairs):
        values = []
        for _ in range(2):
            run = runs.start(client, suite, mode=Mode.NORMAL, nodes=[NUM_NODES])
            runs.wait(run)
            report = runs.make_report(client, run)
            assert report.main is not None, report.problems
            values.append(report.main.value)
        found.append(abs(values[0] - values[1]) / statistics.fmean(values))
    return _figure(f"two_runs_differ_{name}", statistics.median(found), None, None, is_upper=True)


def _named(client: Client) -> list[dict[str, Any]]:
    """Count healthy nodes below the limit and slowed nodes below it, and measure how much slower those were."""
    nodes = [node.name for node in client.nodes()]
    _admitted(client)  # first runs, as the history
    num_drained, num_named, slower = 0, 0, []
    for number in range(NUM_HEALTHY):
        num_drained += len(_below(_admitted(client)))
        if number % (NUM_HEALTHY // NUM_SLOWED) == 0:
            slow = nodes[number // 2 % len(nodes)]
            with _slowed(slow):
                judged = _admitted(client)
            below = _below(judged)
            num_named += slow in below
            num_drained += len([node for node in below if node != slow])
            slower += [one.worse for one in judged if one.node == slow]
        print(f"{number + 1} of {NUM_HEALTHY}: {num_named} slowed named, {num_drained} healthy drained", flush=True)
    return [
        _figure(f"slowed_named_of_{NUM_SLOWED}", num_named, NUM_SLOWED - 1, NUM_SLOWED),
        _figure(f"healthy_drained_in_{NUM_HEALTHY}", num_drained, 0, 0, is_upper=True),
        _figure("slowed_node_is_worse_by", statistics.median(slower), None, None),
    ]


def _admitted(client: Client) -> list[Judged]:
    suite = read_suite(find_suite("matmul"), ADMITTED)
    found = admit(client, suite, rules=Rules(), say=_quiet)
    assert not found.problems, found.problems
    print(
        "  ".join(f"{one.node} {one.value:.4g} ({-one.worse:+.1%}) {one.standing}" for one in found.judged), flush=True
    )
    return found.judged


def _quiet(_line: str) -> None:
    """Discard progress messages."""


def _below(judged: list[Judged]) -> list[str]:
    return [one.node for one in judged if one.is_below]


@contextmanager
def _slowed(node: str) -> Iterator[None]:
    """Stop the ranks of one node for a fifth of the time."""
    ended = threading.Event()
    thread = threading.Thread(target=_slow, args=(node, ended))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _slow(node: str, ended: threading.Event) -> None:
    pids: list[int] = []
    ticks = 0
    while not ended.wait(PERIOD_SECONDS * (1 - SLOWED)):
        if ticks % 10 == 0:
            pids = list(_ranks_on(node))
        ticks += 1
        _signal(pids, signal.SIGSTOP)
        ended.wait(PERIOD_SECONDS * SLOWED)
        _signal(pids, signal.SIGCONT)


def _ranks_on(node: str) -> Iterator[int]:
    """Yield the processes of our ranks on this node, identified by their environment."""
    wanted = {f"DANLU_NODE={node}".encode(), f"NOISE={MARK}".encode()}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if wanted <= set(variables) and any(one.startswith(b"DANLU_BENCH_RANK=") for one in variables):
                yield int(entry.name)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue


def _figure(
    name: str, value: float, gate: float | None, goal: float | None, *, is_upper: bool = False
) -> dict[str, Any]:
    print(f"{name:<36} {value:>8.3f}   gate {gate}   goal {goal}", flush=True)
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal, "is_upper": is_upper}


if __name__ == "__main__":
    sys.exit(main())
