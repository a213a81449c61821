"""The first upload of an artifact that the server has nothing of, beside MLflow's `log_artifact`, in turn.

Every round has a file of its own: nothing of it has been sent before. Both servers keep files in a local folder.
"""

from __future__ import annotations

import os
import shutil
import statistics
from pathlib import Path

from checkpoint import write_checkpoint
from sides import mlflow_server, peer_seconds, send

from danlu.testing.serving import RunningServer


def measure_first_upload(folder: Path, size: int, rounds: int) -> list[dict[str, object]]:
    """The median of the rounds' ratios: how many times faster than MLflow."""
    folder.mkdir()
    server = RunningServer(folder / "data").start()
    ratios = []
    try:
        with mlflow_server(folder / "mlflow") as url:
            for number in range(rounds):
                path = folder / f"round-{number}" / "model.pt"
                path.parent.mkdir()
                write_checkpoint(path, size, seed=number)
                sides = {
                    "danlu": lambda path=path: float(send(server, "upload", "checkpoint", path)["seconds"]),
                    "mlflow": lambda path=path: peer_seconds("mlflow_peer.py", url, [path])[0],
                }
                order = list(sides) if number % 2 == 0 else list(sides)[::-1]
                seconds = {}
                for name in order:
                    os.sync()  # what the other one has not written to the disk yet would be written at our cost
                    seconds[name] = sides[name]()
                ratios.append(seconds["mlflow"] / seconds["danlu"])
                print(
                    f"round {number}: first upload of {size >> 20} MiB, "
                    f"danlu {seconds['danlu']:.2f} s, mlflow {seconds['mlflow']:.2f} s"
                )
                shutil.rmtree(path.parent)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    name = f"first upload of an artifact of {size >> 20} MiB, danlu / mlflow"
    return [{"name": name, "value": statistics.median(ratios), "gate": 1.0, "goal": 1.5}]
