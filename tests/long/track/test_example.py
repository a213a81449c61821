"""The example of a distributed training, as people would start it: two DDP ranks in a job, and without a server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

import danlu
from danlu.client import Client
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

EXAMPLE = Path(__file__).parents[3] / "examples" / "track_ddp"
SOURCE = str(Path(danlu.__file__).parents[1])
pytestmark = pytest.mark.long
WANTED = {
    ("train", "loss"): 64,
    ("val", "loss"): 2,
    ("val", "accuracy"): 2,
    ("test", "loss"): 1,
    ("test", "accuracy"): 1,
}


def runs_of(server: RunningServer, **query: str) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {server.api_key}"}
    answer = httpx.get(f"{server.url}/api/v1/runs", params=query, headers=headers, trust_env=False)
    assert answer.status_code == 200, answer.text
    return [run for run in answer.json()["items"] if not run["is_own"]]


def series_of(run: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(one["type"], one["name"]): one["num_points"] for one in run["metrics"]}


def test_in_a_job(client: Client, server: RunningServer) -> None:
    job = client.jobs.submit(
        name="track-ddp",
        command="python train.py",
        nodes=2,
        launch="ddp",
        code={"path": str(EXAMPLE)},
        env={"PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1", "EPOCHS": "2"},
    )
    assert job.wait().state is JobState.SUCCEEDED, "\n".join(line.text for line in job.logs())
    wait_until(lambda: runs_of(server, job=job.id)[0]["state"] != "running")
    (run,) = runs_of(server, job=job.id)
    assert (run["state"], run["folder"], series_of(run)) == ("finished", "examples", WANTED)
    made = client.artifacts.get("examples/images_ddp")
    assert (made.run, made.job, made.num_files) == (run["id"], job.id, 1)


def test_without_a_server_and_synced_it_is_the_same_run(client: Client, server: RunningServer, tmp_path: Path) -> None:
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("DANLU_")},
        "PYTHONPATH": SOURCE,
        "DANLU_CONFIG": str(tmp_path / "none.yml"),
        "OMP_NUM_THREADS": "1",
        "EPOCHS": "2",
    }
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(EXAMPLE / "train.py")]
    done = subprocess.run([sys.executable, *launch], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    runs = tmp_path / ".danlu" / "runs"
    (folder,) = (path for path in runs.iterdir() if path.name != "artifacts")  # rank 1 was silent
    keyed = {**env, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key}
    outputs = []
    for _ in range(2):
        command = [sys.executable, "-m", "danlu", "sync", "--json"]
        said = subprocess.run(command, cwd=tmp_path, env=keyed, capture_output=True, text=True, check=True)
        outputs.append(json.loads(said.stdout)[0])
    assert folder.name.endswith(outputs[0]["run_id"])
    assert (outputs[0]["num_bytes"] > 1000, outputs[1]["problem"]) == (True, "")

    def ended() -> list[dict[str, Any]]:
        found = [run for run in runs_of(server, folder="examples") if run["id"] == outputs[0]["run_id"]]
        return [run for run in found if run["state"] != "running"]

    (run,) = wait_until(ended)  # what has arrived is counted a moment later
    assert (run["state"], run["folder"], run["hparams"]["epochs"]) == ("finished", "examples", 2)
    assert series_of(run) == WANTED
    assert run["summary"]["accuracy"] > 0.5
    made = client.artifacts.get("examples/images_ddp")
    assert (made.run, made.labels) == (run["id"], ["ddp"])
    (back,) = client.artifacts.download(made, tmp_path / "back")
    assert back.read_bytes() == (tmp_path / "model.pt").read_bytes()
