"""The first upload of an artifact that the server has nothing of, beside MLflow's `log_artifact`, in turn.

Every side of every round has a file of its own: nothing of it has been sent before. Both servers keep files in a local
folder.
"""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checkpoint import write_checkpoint
from sides import mlflow_server, peer_seconds
from ways import WAYS, measured

from danlu.testing.serving import RunningServer

GATE, GOAL = 1.0, 1.5


def measure_first_upload(
    folder: Path, size: int, rounds: int, *, ways: Sequence[str] = tuple(WAYS)
) -> list[dict[str, Any]]:
    """For each way the median of the rounds' ratios: how many times faster than MLflow."""
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
            "gate": GATE,
            "goal": GOAL,
        }
        for way, found in ratios.items()
    ]


def _round(
    server: RunningServer, url: str, folder: Path, size: int, sides: Sequence[str], number: int
) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for side in sides[number % len(sides) :] + sides[: number % len(sides)]:
        path = folder / side / "model.pt"
        path.parent.mkdir(parents=True)
        write_checkpoint(path, size, seed=number * len(sides) + sides.index(side))
        os.sync()  # what the others have not written to the disk yet would be written at this one's cost
        if side == "mlflow":
            seconds[side] = peer_seconds("mlflow_peer.py", url, [path])[0]
        else:
            seconds[side] = measured(side, server, f"round-{number}-{side}", path, folder / f"{side}-work")
        path.unlink()
    return {side: seconds[side] for side in sides}
