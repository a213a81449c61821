"""A training script that logs a run and leaves an artifact, as a person would start it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import danlu
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

SCRIPT = """
import math, os, sys, time
from danlu import track

name, lr, last_file = sys.argv[1], float(sys.argv[2]), sys.argv[3]
num_steps = 40
run = track.start(name, folder="vision/mnist", hparams={"lr": lr, "optimizer": {"name": "<b>sgd</b>"}})
run.total_steps(num_steps)
data = track.artifact("mnist-data").add_reference("s3://bucket/mnist/", "mnist")
run.mark_input(data)
step = 0
while step < num_steps or (last_file and not os.path.exists(last_file)):
    loss = 2.3 * math.exp(-step * lr / num_steps)
    run.log("train", {"loss": loss}, step=step, epoch=step / 10)
    if step % 10 == 9:
        run.log("val", {"loss": loss * 1.1, "accuracy": 1 - loss / 3}, step=step, epoch=step / 10)
    step += 1
    if last_file:
        time.sleep(0.05)
print("trained", name)
with open("model.pt", "wb") as file:
    file.write(bytes(range(256)) * 40)
with open("labels.csv", "w") as file:
    file.write("digit,count\\n0,5923\\n1,6742\\n")
model = track.artifact("mnist-model").add_file("model.pt").add_file("labels.csv")
run.mark_output(model)
run.summary["best"] = 1 - loss / 3
run.finish()
print(run.id)
"""


def start_training(
    folder: Path, server: RunningServer, name: str, *, lr: float = 3.0, until: Path | None = None
) -> subprocess.Popen[str]:
    """Start it beside the server; what it prints last is the id of its run. It logs on `until` there is such a file."""
    outer = {key: value for key, value in os.environ.items() if not key.startswith("DANLU_")}
    env = {
        **outer,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(Path(danlu.__file__).parents[1]), outer.get("PYTHONPATH")))),
        "DANLU_CONFIG": str(folder / "none.yml"),
        "DANLU_URL": server.url,
        "DANLU_API_KEY": server.api_key,
    }
    (folder / "train.py").write_text(SCRIPT)
    command = [sys.executable, "train.py", name, str(lr), str(until or "")]
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish_training(process: subprocess.Popen[str]) -> str:
    """Wait for its end and return the id of its run."""
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out.split()[-1]


def wait_for_models(server: RunningServer, count: int) -> None:
    """Artifacts arrive a moment after the script has ended."""
    with server.client() as client:
        wait_until(
            lambda: (
                sum(one.latest.version for one in client.artifacts.list() if one.name == "mnist-model" and one.latest)
                >= count
            )
        )


def model_of(server: RunningServer, run: str) -> str:
    """The version of mnist-model that a run has left. It arrives a moment after the script has ended."""
    with server.client() as client:
        return wait_until(lambda: client.flow(f"run:{run}", direction="down").of_kind("artifact"))[0].label


def pages_of_runs(server: RunningServer, folder: Path) -> dict[str, str]:
    """Addresses of pages by name, about runs that a script made, what they left, and who is here."""
    long_name = "a-name-of-a-run-that-is-much-longer-than-anybody-would-like-to-read-in-a-table"
    runs = [finish_training(start_training(folder, server, name)) for name in ("first", long_name)]
    wait_for_models(server, len(runs))
    with server.client() as client:
        client.people.register("grace", "correct horse", note="compilers")
        client.models.register("digits", artifact="mnist-model:1", aliases=["champion"])
        version = next(iter(client.artifacts.versions("mnist-model"))).id
    compared = f"/experiments/compare?runs={','.join(runs)}"
    return {
        "experiments": "/experiments",
        "experiments-wrong": "/experiments?q=hparams.lr+%3C",
        "run": f"/experiments/{runs[1]}",
        "run-details": f"/experiments/{runs[1]}?tab=details",
        "run-output": f"/experiments/{runs[1]}?tab=output",
        "compare": compared,
        **{f"compare-{tab}": f"{compared}&tab={tab}" for tab in ("values", "parallel", "scatter")},
        "artifacts": "/artifacts",
        "artifact": f"/artifacts/{version}",
        "artifact-versions": f"/artifacts/{version}?tab=versions",
        "flow": f"/flow?node=artifact:{version}",
        "models": "/models",
        "model": "/models/digits",
        "model-details": "/models/digits?version=1",
        "store": "/store?bucket=main",
        "cluster": "/cluster",
        "bench": "/bench",
        "projects": "/projects",
        "project": "/projects/default",
        "quotas": "/projects/default?tab=quotas",
        "admin": "/admin",
        "audit": "/admin?tab=audit",
    }
