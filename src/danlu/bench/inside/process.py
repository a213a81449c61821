"""One rank of a benchmark: run the work, measure it, and write the results."""

from __future__ import annotations

import os
import sys
import time
from importlib import import_module
from typing import Any

from danlu.bench.inside.facts import facts_of
from danlu.bench.inside.measured import Measured
from danlu.bench.inside.place import Place, places_of_node, read_options, results_folder, write_whole
from danlu.bench.inside.power import Meter

RANK = "DANLU_BENCH_RANK"
VERSION = 1


def run_rank(work: str) -> int:
    options = read_options()
    per_server = int(os.environ["DANLU_DEVICES_PER_NODE"])
    place = places_of_node(os.environ, str(options["mode"]))[int(os.environ[RANK]) % per_server]
    found = import_module(f"danlu.bench.inside.work.{work}")
    began = time.time()
    with Meter(is_read=place.local_rank == 0) as meter:
        measured: Measured = found.work(place, dict(options["parameters"]))
    power = meter.average_watts()
    if power is not None:
        measured.metrics["average_power"] = power
    leave_result(place, measured, suite=str(options["suite"]["name"]), began=began)
    sys.stdout.write(f"bench: rank {place.rank}: {_short(measured.metrics)}\n")
    return 0


def leave_result(place: Place, measured: Measured, *, suite: str, began: float) -> None:
    content: dict[str, Any] = {
        "version": VERSION,
        "suite": suite,
        "job": os.environ["DANLU_JOB_ID"],
        "attempt": int(os.environ["DANLU_ATTEMPT"]),
        "mode": place.mode,
        "rank": place.rank,
        "num_ranks": place.num_ranks,
        "server": place.server,
        "local_rank": place.local_rank,
        "node": os.environ["DANLU_NODE"],
        "began_at": began,
        "ended_at": time.time(),
        "metrics": measured.metrics,
        "samples": measured.samples,
        "curves": measured.curves,
        "facts": facts_of(),
    }
    write_whole(os.path.join(results_folder(), f"rank-{place.rank}.json"), content)


def _short(metrics: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.6g}" for name, value in sorted(metrics.items()))
