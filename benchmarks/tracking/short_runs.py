"""1,000 short runs in sequence in one script: time, memory and processes. Danlu, trackio, W&B offline.

Danlu's runs are also sent to a server, by its companion; the others stay on this machine. Each tracker runs in a
separate process, with its packages in a separate virtual environment. A tracker's processes are found by an environment
variable, no matter which process started them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import danlu
from danlu.testing.serving import RunningServer

PACKAGES = ("wandb==0.31.0", "trackio==0.43.0")
VENV = Path(".bench") / "short-runs"
SOURCE = str(Path(danlu.__file__).parents[1])
MARK = "SHORT_RUNS"
NUM_STEPS = 10

MEASURE = f"""
import json, sys, time
count = int(sys.argv[1])
began = time.perf_counter()
def steps(log):
    for step in range({NUM_STEPS}):
        log({{"loss": step * 0.5, "accuracy": step * 0.25}}, step)
"""
END = "\nprint(json.dumps((time.perf_counter() - began) / count))\n"
SCRIPTS = {
    "danlu": """
from danlu import track
for number in range(count):
    run = track.start(f"short {number}", hparams={"number": number})
    steps(lambda values, step: run.log(values, step=step))
    run.finish()
""",
    "trackio": """
import trackio
for number in range(count):
    trackio.init(project="short", name=f"short {number}", config={"number": number})
    steps(lambda values, step: trackio.log(values, step=step))
    trackio.finish()
""",
    "wandb_offline": """
import wandb
about = {"mode": "offline", "dir": ".", "settings": wandb.Settings(silent=True, console="off")}
for number in range(count):
    run = wandb.init(project="short", name=f"short {number}", config={"number": number}, **about)
    steps(lambda values, step: run.log(values, step=step))
    run.finish()
""",
}


class Short(NamedTuple):
    seconds_per_run: float
    """As measured in the script."""

    peak_mib: float
    """Of all its processes, with shared pages counted once."""

    num_helpers: int
    """Maximum number of processes at a time besides the script's."""


def measure_short_runs(server: RunningServer, *, quick: bool) -> list[dict[str, Any]]:
    counts = {"danlu": 1000, "trackio": 100 if quick else 1000, "wandb_offline": 20 if quick else 100}
    found: dict[str, Short] = {}
    for name, count in counts.items():
        began = time.perf_counter()
        found[name] = _run(name, count, server)
        print(f"{count} short runs, {name}: {found[name]}")
        if name == "danlu":
            _wait(server, count)
            print(f"  all {count} on the server after {time.perf_counter() - began:.1f} s")
    ours, theirs = found["danlu"], found["trackio"]
    figures = [_figure("short_runs_time_by_trackio", ours.seconds_per_run / theirs.seconds_per_run, 1.0, 0.5)]
    figures.append(_figure("short_runs_helper_processes", ours.num_helpers, 1, 1))
    for name, one in found.items():
        figures.append(_figure(f"short_run_milliseconds_{name}", one.seconds_per_run * 1e3, None, None))
        figures.append(_figure(f"short_runs_peak_mib_{name}", one.peak_mib, None, None))
    return figures


def _run(name: str, count: int, server: RunningServer) -> Short:
    mark = uuid.uuid4().hex
    foreign = ("DANLU_", "WANDB_", "TRACKIO_")
    env = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    with tempfile.TemporaryDirectory(prefix="danlu-bench-", ignore_cleanup_errors=True) as folder:
        env.update({MARK: mark, "HOME": folder, "XDG_RUNTIME_DIR": folder, "TRACKIO_DIR": folder, "DO_NOT_TRACK": "1"})
        if name == "danlu":
            env.update(PYTHONPATH=SOURCE, DANLU_URL=server.url, DANLU_API_KEY=server.api_key)
        python = sys.executable if name == "danlu" else _peers_python()
        path = Path(folder) / "script.py"
        path.write_text(MEASURE + SCRIPTS[name] + END)
        child = subprocess.Popen(
            [python, str(path), str(count)],
            cwd=folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        watch = _Watch(mark, child.pid)
        out, err = child.communicate()
        if name == "danlu":
            _wait(server, count)
        watch.stop()
        if child.returncode != 0:
            raise RuntimeError(f"{name}: {err[-2000:]}")
    return Short(float(json.loads(out.splitlines()[-1])), watch.peak_mib, watch.num_helpers)


class _Watch:
    """Samples the marked processes every tenth of a second."""

    def __init__(self, mark: str, pid: int) -> None:
        self.peak_mib, self.num_helpers = 0.0, 0
        self._mark, self._pid = f"{MARK}={mark}".encode(), pid
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        before: set[int] = set()
        while not self._is_over.wait(0.1):
            found = {int(name): _kib(name) for name in os.listdir("/proc") if name.isdigit() and self._is_ours(name)}
            self.peak_mib = max(self.peak_mib, sum(found.values()) / 1024)
            # count only processes seen twice: not `git`, nor what forks the companion
            self.num_helpers = max(self.num_helpers, len(before & set(found) - {self._pid}))
            before = set(found)

    def _is_ours(self, pid: str) -> bool:
        try:
            return self._mark in Path("/proc", pid, "environ").read_bytes()
        except OSError:
            return False


def _kib(pid: str) -> int:
    try:
        lines = Path("/proc", pid, "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def _wait(server: RunningServer, count: int) -> None:
    deadline = time.monotonic() + 600
    with server.client() as client:
        while sum(1 for _ in client.runs.list("state = 'finished'", limit=count)) < count:
            if time.monotonic() > deadline:
                raise RuntimeError("the runs did not arrive")
            time.sleep(0.5)


def _peers_python() -> str:
    if not (VENV / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin" / "pip", "install", "-q", *PACKAGES], check=True)
        (VENV / "ready").touch()
    return str((VENV / "bin" / "python").absolute())


def _figure(name: str, value: float, gate: float | None, goal: float | None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 4), "gate": gate, "goal": goal}
