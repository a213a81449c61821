"""Runs that W&B, trackio and SwanLab write themselves come out as they were logged.

Nothing is fetched: `DANLU_PEERS_PYTHON` names an interpreter that has these packages; without it, this one is asked.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.client.tracking.plain_yaml import load_plain
from danlu.importing.records import ForeignRun, Medium, Points, Printed, Source
from danlu.importing.swanlab import SwanlabFolders
from danlu.importing.trackio import TrackioProjects
from danlu.importing.wandb.folders import WandbFolders
from danlu.testing.waiting import HANG_SECONDS

pytestmark = pytest.mark.long
PYTHON = os.environ.get("DANLU_PEERS_PYTHON", sys.executable)
STEPS = 300
ROWS = [(step, {f"train/m{number}": step * number + 0.1 for number in range(10)}) for step in range(STEPS)]
LOGGED = f"[(s, {{f'train/m{{n}}': s * n + 0.1 for n in range(10)}}) for s in range({STEPS})]"

WANDB = f"""
import numpy, wandb
run = wandb.init(project="vision", name="first", group="g1", job_type="fit", tags=["a"], notes="mine",
    config={{"lr": 0.1, "opt": {{"name": "sgd"}}}})
for step, values in {LOGGED}:
    run.log(values)
print("printed")
run.log({{"img": wandb.Image(numpy.zeros((8, 8, 3), dtype=numpy.uint8)), "hist": wandb.Histogram([1, 2, 2]),
    "table": wandb.Table(columns=["a"], data=[[1]])}})
run.config.update({{"late": 7}})
run.summary["best"] = 0.5
open("w.bin", "w").write("weights")
made = wandb.Artifact("model", "model")
made.add_file("w.bin")
run.log_artifact(made, aliases=["best"])
run.finish()
"""
TRACKIO = f"""
import numpy, trackio
trackio.init(project="vision", name="first", group="g1", config={{"lr": 0.1, "opt": {{"name": "sgd"}}}})
for step, values in {LOGGED}:
    trackio.log(values, step=step)
trackio.log({{"img": trackio.Image(numpy.zeros((8, 8, 3), dtype=numpy.uint8)), "hist": trackio.Histogram([1, 2, 2]),
    "table": trackio.Table(columns=["a"], data=[[1]])}}, step={STEPS})
trackio.finish()
"""
SWANLAB = f"""
import numpy, swanlab
swanlab.init(project="vision", experiment_name="first", group="g1", job_type="fit", tags=["a"], description="mine",
    config={{"lr": 0.1, "opt": {{"name": "sgd"}}}}, mode="offline")
for step, values in {LOGGED}:
    swanlab.log(values, step=step)
print("printed")
swanlab.log({{"img": swanlab.Image(numpy.zeros((8, 8, 3), dtype=numpy.uint8))}}, step={STEPS})
swanlab.finish()
"""


def write(package: str, script: str, folder: Path) -> None:
    """Run a script with the package, or skip where there is none."""
    if subprocess.run([PYTHON, "-c", f"import numpy, {package}"], capture_output=True, check=False).returncode:
        pytest.skip(f"{PYTHON} has no {package}; DANLU_PEERS_PYTHON names an interpreter that has it")
    environ = {**os.environ, "WANDB_MODE": "offline", "TRACKIO_DIR": str(folder), "HOME": str(folder)}
    subprocess.run(
        [PYTHON, "-c", script], cwd=folder, env=environ, check=True, capture_output=True, timeout=HANG_SECONDS
    )


def only(source: Source) -> ForeignRun:
    (run,) = source.runs()
    assert source.problems() == []
    assert (run.name, run.folder, run.group) == ("first", "vision", "g1")
    return run


def logged(run: ForeignRun) -> list[tuple[int, dict[str, float]]]:
    """The points by step, but those of the machine."""
    found: dict[int, dict[str, float]] = {}
    for event in run.events():
        if isinstance(event, Points) and event.type != "system":
            found.setdefault(event.step, {}).update(event.values)
    return sorted(found.items())


def media(run: ForeignRun) -> list[tuple[str, str]]:
    return sorted((event.kind, event.name) for event in run.events() if isinstance(event, Medium))


def printed(run: ForeignRun) -> bytes:
    return b"".join(event.data for event in run.events() if isinstance(event, Printed))


def test_wandb(tmp_path: Path) -> None:
    write("wandb", WANDB, tmp_path)
    run = only(WandbFolders(tmp_path))
    assert logged(run) == ROWS
    assert media(run) == [("histogram", "hist"), ("image", "img"), ("table", "table")]
    assert run.hparams == {"lr": 0.1, "opt": {"name": "sgd"}, "late": 7}
    assert run.summary["best"] == 0.5
    assert (run.labels, run.description, run.state) == (("a", "job_type:fit"), "mine", "finished")
    assert printed(run) == b"printed\n"
    assert [(made.name, list(made.files), made.aliases) for made in run.artifacts if made.name == "vision/model"] == [
        ("vision/model", ["w.bin"], ("best",))
    ]
    assert run.problems.all() == []


def test_trackio(tmp_path: Path) -> None:
    write("trackio", TRACKIO, tmp_path)
    run = only(TrackioProjects(tmp_path))
    assert logged(run) == ROWS
    assert media(run) == [("histogram", "hist"), ("image", "img"), ("table", "table")]
    assert run.hparams == {"lr": 0.1, "opt": {"name": "sgd"}}
    assert run.problems.all() == []


def test_swanlab(tmp_path: Path) -> None:
    write("swanlab", SWANLAB, tmp_path)
    run = only(SwanlabFolders(tmp_path, load_plain))
    assert logged(run) == ROWS
    assert media(run) == [("image", "img")]
    assert run.hparams == {"lr": 0.1, "opt": {"name": "sgd"}}
    assert (run.labels, run.description, run.state) == (("a", "job_type:fit"), "mine", "finished")
    assert b"printed\n" in printed(run)
    assert run.problems.all() == []
