"""A run of a training on two ranks: inside a job, and with no server at all and synced afterwards."""

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

SOURCE = str(Path(danlu.__file__).parents[1])
TWO_RANKS = """
from danlu import track
run = track.start("two-ranks", {"lr": 0.1}, folder="examples")
for step in range(40):
    run.log("train", {"loss": step}, step=step, epoch=1)
run.log("val", {"loss": 1, "accuracy": 0.75}, step=40)
run.summary["accuracy"] = 0.75
run.finish()
"""
LOGS = """
import os, sys, time
from danlu import track
run = track.start("in-a-job")
for step in range(int(os.environ["DANLU_ATTEMPT"]) * 5):
    run.log("validation", {"accuracy": step / 10}, step=step)
print("hello from", run.id)
if "--die" in sys.argv:
    time.sleep(3600)
"""


def runs_of(server: RunningServer, **query: str) -> list[dict[str, Any]]:
    answer = _get(server, "/runs", **query)
    return [run for run in answer["items"] if not run["is_own"]]


def series_of(run: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(one["type"], one["name"]): one["num_points"] for one in run["metrics"]}


def branches_of(server: RunningServer, job_id: str) -> list[int]:
    """Those of the processes of the job's only run."""
    (run,) = runs_of(server, job=job_id)
    found = _get(server, f"/runs/{run['id']}")
    return sorted(one["branch"] for one in found["journals"] if one["writer"] == "process")


def wait_for_run(server: RunningServer, *, state: str, **query: str) -> dict[str, Any]:
    def look() -> list[dict[str, Any]]:
        return [run for run in runs_of(server, **query)[:1] if run["state"] == state]

    return wait_until(look, lambda: runs_of(server, **query))[0]


def _get(server: RunningServer, path: str, **query: str) -> Any:
    headers = {"Authorization": f"Bearer {server.api_key}"}
    answer = httpx.get(f"{server.url}/api/v1{path}", params=query, headers=headers, trust_env=False)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_job_has_its_run_while_it_runs_and_after(client: Client, server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOGS)
    job = client.jobs.submit(
        name="tracked", command="python train.py", code={"path": str(tmp_path)}, env={"PYTHONPATH": SOURCE}
    )
    assert job.wait().state is JobState.SUCCEEDED, "\n".join(line.text for line in job.logs())
    run = wait_for_run(server, state="finished", job=job.id)
    assert (run["name"], run["job"], run["attempt"]) == ("in-a-job", job.id, 1)
    assert series_of(run) == {("val", "accuracy"): 5}
    job.start()
    assert job.wait().state is JobState.SUCCEEDED
    # what has arrived is counted a moment later
    wait_until(lambda: branches_of(server, job.id) == [1, 2], lambda: branches_of(server, job.id))


def test_without_a_server_and_synced_it_is_the_same_run(server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWO_RANKS)
    outer = {name: value for name, value in os.environ.items() if not name.startswith("DANLU_")}
    env = {**outer, "PYTHONPATH": SOURCE, "DANLU_CONFIG": str(tmp_path / "none.yml")}
    for rank in range(2):
        subprocess.run([sys.executable, "train.py"], cwd=tmp_path, env={**env, "RANK": str(rank)}, check=True)
    (folder,) = (tmp_path / ".danlu" / "runs").iterdir()  # rank 1 was silent
    keyed = {**env, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key}
    outputs = []
    for _ in range(2):
        command = [sys.executable, "-m", "danlu", "sync", "--json"]
        said = subprocess.run(command, cwd=tmp_path, env=keyed, capture_output=True, text=True, check=True)
        outputs.append(json.loads(said.stdout)[0])
    assert folder.name.endswith(outputs[0]["run_id"])
    assert (outputs[0]["num_bytes"] > 1000, outputs[1]["problem"]) == (True, "")
    run = wait_for_run(server, state="finished", folder="examples", filter=f"id = '{outputs[0]['run_id']}'")
    assert (run["hparams"], run["summary"]) == ({"lr": 0.1}, {"accuracy": 0.75})
    assert series_of(run) == {("train", "loss"): 40, ("val", "loss"): 1, ("val", "accuracy"): 1}


def test_runs_of_t9k_are_uploaded(server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from t9k import em

    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        run = em.create_run(name=f"em-{name}", hparams={"lr": 0.1})
        for step in range(10):
            run.log("training", {"loss": step}, step, epoch=1)
        run.finish()
    with pytest.raises(RuntimeError, match="API Key not found"):
        em.login(server.url, "no-such-key")
    em.login(server.url, server.api_key)
    with pytest.raises(ValueError, match="Folder does not exist: 'em-examples'"):
        run.upload("em-examples")
    run.upload("em-examples", make_folder=True)
    em.upload(".em/runs", folder="em-examples")
    found = wait_for_run(server, state="finished", folder="em-examples", filter="name = 'em-two'")
    assert series_of(found) == {("train", "loss"): 10}
    assert len(runs_of(server, folder="em-examples")) == 2
    other = em.create_run(name="em-two")
    other.finish()
    with pytest.raises(RuntimeError, match="has a run named 'em-two' already"):
        other.upload("em-examples", conflict_strategy="error")
    other.upload("em-examples", conflict_strategy="skip")
    assert (len(runs_of(server, folder="em-examples")), other.remote) == (2, [])
    other.upload("em-examples", conflict_strategy="replace")
    assert len(runs_of(server, folder="em-examples")) == 2
    em.logout()
