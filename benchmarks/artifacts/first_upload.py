"""First upload of an artifact that is new to the server, against MLflow's `log_artifact`, alternately.

Every side uses a new file in every round, so nothing was sent before. Both servers store files in a local folder.

A virtual machine may get memory from its host when a page is first used, which took ten times as long as writing the
page. So that no side pays for that and another one does not, most of the memory is used and freed before each round.
"""

from __future__ import annotations

import mmap
import os
import shutil
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checkpoint import write_checkpoint
from sides import mlflow_server, peer_seconds
from ways import WAYS, measured

from danlu.testing.serving import RunningServer

GATE, GOAL = 1.0, 1.5
IDLE_SHARE, IDLE_SECONDS = 0.1, 120.0
USED_SHARE = 0.8
"""Of the memory that is available."""


def measure_first_upload(
    folder: Path, size: int, rounds: int, *, ways: Sequence[str] = tuple(WAYS), has_gate: bool = True
) -> list[dict[str, Any]]:
    """Return for each way how many times faster than MLflow it is, the median over rounds."""
    folder.mkdir()
    server = RunningServer(folder / "data").start()
    ratios: dict[str, list[float]] = {way: [] for way in ways}
    try:
        with mlflow_server(folder / "mlflow") as url:
            for number in range(rounds):
                seconds = _round(server, url, folder / f"round-{number}", size, [*ways, "mlflow"], number)
                for way in ways:
                    ratios[way].append(seconds["mlflow"] / seconds[way])
                told = ", ".join(f"{side} {taken:.2f} s" for side, taken in seconds.items())
                print(f"round {number}: first upload of {size >> 20} MiB, {told}")
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return [
        {
            "name": f"first_upload_of_{size >> 20}_mib_by_{way}_times_mlflow",
            "value": round(statistics.median(found), 4),
            "gate": GATE if has_gate else None,
            "goal": GOAL if has_gate else None,
        }
        for way, found in ratios.items()
    ]


def _round(
    server: RunningServer, url: str, folder: Path, size: int, sides: Sequence[str], number: int
) -> dict[str, float]:
    seconds: dict[str, float] = {}
    _use_memory(USED_SHARE)
    for side in sides[number % len(sides) :] + sides[: number % len(sides)]:
        path = folder / side / "model.pt"
        path.parent.mkdir(parents=True)
        write_checkpoint(path, size, seed=number * len(sides) + sides.index(side))
        os.sync()  # else the next side would pay for pending writes of this one
        _wait_until_idle()
        if side == "mlflow":
            seconds[side] = peer_seconds("mlflow_peer.py", url, [path])[0]
        else:
            seconds[side] = measured(side, server, f"round-{number}-{side}", path, folder / f"{side}-work")
        path.unlink()
    return {side: seconds[side] for side in sides}


def _use_memory(share: float) -> None:
    with open("/proc/meminfo", encoding="ascii") as file:
        available = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:")) << 10
    mmap.mmap(-1, int(available * share), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE).close()


def _wait_until_idle() -> None:
    """A server answers before all of its workers have started."""
    deadline = time.monotonic() + IDLE_SECONDS
    while _busy_share(1.0) > IDLE_SHARE:
        if time.monotonic() > deadline:
            raise RuntimeError(f"the machine is busy with other work after {IDLE_SECONDS:.0f} s; stop that first")


def _busy_share(seconds: float) -> float:
    """Of all cores, while this process sleeps."""
    before = _ticks()
    time.sleep(seconds)
    idle, total = (after - earlier for after, earlier in zip(_ticks(), before, strict=True))
    return 1 - idle / total


def _ticks() -> tuple[int, int]:
    with open("/proc/stat", encoding="ascii") as file:
        counts = [int(word) for word in file.readline().split()[1:9]]
    return counts[3] + counts[4], sum(counts)
