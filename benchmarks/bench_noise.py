"""How much `danlu bench` differs between runs on one machine, and whether a slowed node is named.

    python benchmarks/bench_noise.py [--quick]

Two "nodes" are two tasks on this machine. A slowed one loses 20 % of its CPU time: its processes are stopped for a
fifth of every 50 ms. Named means that `danlu bench admit` finds it below the baseline: the best of three runs,
tolerance 10 %. The last line is JSON.
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

from danlu.bench import runs
from danlu.bench.admission import best_of, judge
from danlu.bench.report import Report
from danlu.bench.suite import Mode, find_suite, read_suite
from danlu.client import Client
from danlu.testing.serving import RunningServer

SUITES = ("allreduce", "matmul", "memory", "storage", "dataload", "resnet-like", "transformer-like")
PERIOD_SECONDS, SLOWED = 0.05, 0.2
MARK = f"NOISE-{uuid.uuid4().hex}"
"""In the environment of our own ranks: nothing else is ever stopped."""

REPEAT = 3


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer runs: shows that it works, and no more")
    quick = parser.parse_args().quick
    num_pairs, num_slow, num_healthy = (1, 1, 1) if quick else (5, 10, 20)
    with tempfile.TemporaryDirectory(prefix="bench-noise-") as folder:
        server = RunningServer(Path(folder) / "data").start()
        try:
            with server.client() as client:
                noise = {name: _noise(client, name, num_pairs, quick=quick) for name in SUITES}
                expected = _baseline(client, quick=quick)
                named = sum(_is_named(client, expected, slow=1, quick=quick) == [1] for _ in range(num_slow))
                drained = sum(bool(_is_named(client, expected, slow=None, quick=quick)) for _ in range(num_healthy))
        finally:
            server.stop()
    for name, value in noise.items():
        print(f"{name:18} two runs differ by {100 * value:5.1f} % (median of {num_pairs})")
    print(f"slowed by {100 * SLOWED:.0f} %: named in {named} of {num_slow}")
    print(f"healthy: drained in {drained} of {num_healthy}")
    print(json.dumps({"noise": noise, "named": named, "of": num_slow, "drained": drained, "healthy": num_healthy}))
    return 0


def _settings(name: str, *, quick: bool) -> list[str]:
    small = {
        "allreduce": ["sizes=[4096, 1048576]", "steps=3"],
        "matmul": ["size=256", "steps=5"],
        "memory": ["megabytes=16", "steps=5"],
        "storage": ["megabytes=8", "files=20", "steps=1"],
        "dataload": ["samples=32", "batch_size=16", "steps=3"],
        "resnet-like": ["steps=3", "warmup=1"],
        "transformer-like": ["steps=3", "warmup=1"],
    }
    return [f"parameters.{one}" for one in small[name]] + ["criteria={}"] if quick else []


def _run(client: Client, name: str, *, mode: Mode, nodes: int, quick: bool, more: tuple[str, ...] = ()) -> Report:
    run = runs.start(
        client, read_suite(find_suite(name), [*_settings(name, quick=quick), *more]), mode=mode, nodes=[nodes]
    )
    runs.wait(run)
    report = runs.make_report(client, run)
    assert report.main is not None, report.problems
    return report


def _noise(client: Client, name: str, num_pairs: int, *, quick: bool) -> float:
    """By how much two runs after each other differ: the median of pairs."""
    found = []
    for _ in range(num_pairs):
        values = []
        for _ in range(2):
            main = _run(client, name, mode=Mode.NORMAL, nodes=2, quick=quick).main
            assert main is not None
            values.append(main.value)
        found.append(abs(values[0] - values[1]) / statistics.fmean(values))
    return statistics.median(found)


def _servers(report: Report) -> dict[str, float]:
    """The two tasks stand for two nodes: both are on this machine."""
    assert report.main is not None
    return {str(one.server): one.value for one in report.main.servers}


def _baseline(client: Client, *, quick: bool) -> dict[str, float]:
    found = [_servers(_measure(client, quick=quick)) for _ in range(1 if quick else 5)]
    return {server: statistics.median(one[server] for one in found) for server in found[0]}


def _measure(client: Client, *, quick: bool) -> Report:
    size = ("parameters.size=512", "parameters.steps=200") if quick else ("parameters.steps=200",)
    more = (f"env.NOISE={MARK}", *size)  # long beside the period of a slowed node
    return _run(client, "matmul", mode=Mode.SINGLE_SERVER, nodes=2, quick=quick, more=more)


def _is_named(client: Client, expected: dict[str, float], *, slow: int | None, quick: bool) -> list[int]:
    """Servers that are below the baseline, as `danlu bench admit` judges."""
    reports = []
    for _ in range(REPEAT):
        with _slowed(slow):
            reports.append(_measure(client, quick=quick))
    suite = reports[0].suite
    measure = suite.measures[suite.main_measure]
    judged = judge(best_of(map(_servers, reports), measure.better), expected, measure=measure, tolerance=0.1)
    return [int(one.node) for one in judged if one.is_below]


@contextmanager
def _slowed(server: int | None) -> Iterator[None]:
    """Stop the ranks of one task for a fifth of the time."""
    if server is None:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_slow, args=(server, ended))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _slow(server: int, ended: threading.Event) -> None:
    pids: list[int] = []
    ticks = 0
    while not ended.wait(PERIOD_SECONDS * (1 - SLOWED)):
        if ticks % 10 == 0:
            pids = list(_ranks_of(server))
        ticks += 1
        _signal(pids, signal.SIGSTOP)
        ended.wait(PERIOD_SECONDS * SLOWED)
        _signal(pids, signal.SIGCONT)


def _ranks_of(server: int) -> Iterator[int]:
    """Our own processes that are ranks of this task, by their environment."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if {b"DANLU_BENCH_RANK=%d" % server, f"NOISE={MARK}".encode()} <= set(variables):
                yield int(entry.name)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue


if __name__ == "__main__":
    sys.exit(main())
