"""How long `log` of two values takes in the training process: Danlu, W&B offline, tensorboardX, MLflow.

Each tracker runs in a separate process, with its packages in a separate virtual environment (`.bench/trackers`).
Trackers alternate, so that load on the machine affects all of them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import danlu

PACKAGES = ("wandb==0.31.0", "tensorboardX==2.6.5", "mlflow==3.17.2")
VENV = Path(".bench") / "trackers"
SOURCE = str(Path(danlu.__file__).parents[1])

MEASURE = """
import json, sys, time
count = int(sys.argv[1])

def measure(log):
    for step in range(200):
        log(step)
    time.sleep(0.3)
    began = time.perf_counter()
    for step in range(200, 200 + count):
        log(step)
    return (time.perf_counter() - began) / count
"""
DANLU = (
    MEASURE
    + """
from danlu import track
run = track.start("bench")
seconds = measure(lambda step: run.log({"loss": step * 0.5, "accuracy": step * 0.25}, step=step))
run.finish()
print(json.dumps(seconds))
"""
)
WANDB = (
    MEASURE
    + """
import wandb
run = wandb.init(project="bench", mode="offline", dir=".", settings=wandb.Settings(silent=True, console="off"))
seconds = measure(lambda step: run.log({"loss": step * 0.5, "accuracy": step * 0.25}, step=step))
run.finish()
print(json.dumps(seconds))
"""
)
TENSORBOARDX = (
    MEASURE
    + """
from tensorboardX import SummaryWriter
writer = SummaryWriter("events")
def log(step):
    writer.add_scalar("loss", step * 0.5, step)
    writer.add_scalar("accuracy", step * 0.25, step)
seconds = measure(log)
writer.close()
print(json.dumps(seconds))
"""
)
MLFLOW = (
    MEASURE
    + """
import logging
logging.disable(logging.WARNING)
import mlflow
mlflow.set_tracking_uri("sqlite:///mlflow.db")
with mlflow.start_run():
    seconds = measure(lambda step: mlflow.log_metrics({"loss": step * 0.5, "accuracy": step * 0.25}, step=step))
print(json.dumps(seconds))
"""
)
TRACKERS = {
    # name: script, calls in a full measurement
    "danlu": (DANLU, 50_000),
    "wandb_offline": (WANDB, 5_000),
    "tensorboardx": (TENSORBOARDX, 5_000),
    "mlflow_sqlite": (MLFLOW, 200),
}


def measure_log_speed(*, rounds: int = 5, quick: bool = False) -> list[dict[str, object]]:
    """Return figures in the benchmarks' format: median seconds per call of each tracker, and ours against W&B's."""
    python = trackers_python()
    taken: dict[str, list[float]] = {name: [] for name in TRACKERS}
    for _ in range(rounds):
        for name, (script, calls) in TRACKERS.items():
            own = sys.executable if name == "danlu" else python
            taken[name].append(_run(own, script, calls // (4 if quick else 1)))
    medians = {name: statistics.median(found) for name, found in taken.items()}
    for name, found in taken.items():
        spread = ", ".join(f"{seconds * 1e6:.1f}" for seconds in sorted(found))
        print(f"log of 2 values, {name}: median {medians[name] * 1e6:.1f} µs ({spread})")
    ratio = medians["wandb_offline"] / medians["danlu"]
    figures: list[dict[str, object]] = [
        {"name": "log_times_faster_than_wandb_offline", "value": ratio, "gate": 6.0, "goal": 10.0}
    ]
    figures += [
        {"name": f"log_microseconds_{name}", "value": median * 1e6, "gate": None, "goal": None}
        for name, median in medians.items()
    ]
    return figures


def _run(python: str, script: str, calls: int) -> float:
    with tempfile.TemporaryDirectory(prefix="danlu-bench-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "script.py"
        path.write_text(script)
        foreign = ("DANLU_", "WANDB_", "MLFLOW_")
        env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        env.update(PYTHONPATH=SOURCE, DANLU_TRACK="offline", MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="1")
        done = subprocess.run(
            [python, str(path), str(calls)], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{script[-300:]}\n{done.stderr[-2000:]}")
        return float(json.loads(done.stdout.splitlines()[-1]))


def trackers_python() -> str:
    """Return the Python of the virtual environment shared by the other trackers."""
    if not (VENV / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin" / "pip", "install", "-q", *PACKAGES], check=True)
        (VENV / "ready").touch()
    return str((VENV / "bin" / "python").absolute())


if __name__ == "__main__":
    print(json.dumps({"bench": "log_speed", "figures": measure_log_speed(quick="--quick" in sys.argv)}))
