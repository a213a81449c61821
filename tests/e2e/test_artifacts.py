"""Artifacts of a training: with no server at all and synced afterwards, beside a server, and inside a job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.flows import edges_of

import danlu
from danlu import track
from danlu.client import Client
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until
from danlu.track import warn

SOURCE = str(Path(danlu.__file__).parents[1])
TRAINS = """
import random, sys
from danlu import track
name = sys.argv[1]
run = track.start(name)
data = track.artifact(name + "-data", labels=["raw"]).add_reference("s3://bucket/mnist/", "mnist")
run.mark_input(data)
for epoch in range(2):
    with open("model.pt", "wb") as file:  # the same path for every epoch, as scripts do
        file.write(random.Random(epoch).randbytes(300_000))
    model = track.artifact(name + "-model", description=f"epoch {epoch}").add_file("model.pt")
    run.mark_output(model)
run.finish()
print(run.id)
"""


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    outer = {name: value for name, value in os.environ.items() if not name.startswith("DANLU_")}
    return {**outer, "PYTHONPATH": SOURCE, "DANLU_CONFIG": str(tmp_path / "none.yml"), **more}


def train(tmp_path: Path, name: str, **more: str) -> str:
    (tmp_path / "train.py").write_text(TRAINS)
    command = [sys.executable, "train.py", name]
    env = environment(tmp_path, **more)
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


def sync(tmp_path: Path, server: RunningServer) -> dict[str, dict[str, Any]]:
    env = environment(tmp_path, DANLU_URL=server.url, DANLU_API_KEY=server.api_key)
    command = [sys.executable, "-m", "danlu", "sync", "--json"]
    said = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    return {one["artifact_id"]: one for one in json.loads(said.stdout) if "artifact_id" in one}


def check_trained(client: Client, server: RunningServer, name: str, run: str, tmp_path: Path) -> None:
    """All of it is there: two versions with their own bytes, and the edges."""
    import random

    versions = list(client.artifacts.versions(f"{name}-model"))
    assert sorted((one.version, one.run, one.num_files) for one in versions) == [(1, run, 1), (2, run, 1)]
    for one in versions:
        assert one.description == f"epoch {one.version - 1}", "numbered in the order in which they were made"
        (path,) = client.artifacts.download(one, tmp_path / f"back-{one.version}")
        assert path.read_bytes() == random.Random(int(one.description[-1])).randbytes(300_000)
    data = client.artifacts.get(f"{name}-data")
    assert edges_of(server.data_dir, f"run:{run}") == {
        (f"artifact:{data.id}", f"run:{run}", "input"),
        *((f"run:{run}", f"artifact:{one.id}", "output") for one in versions),
    }


def test_without_a_server_and_synced_any_number_of_times(client: Client, server: RunningServer, tmp_path: Path) -> None:
    run = train(tmp_path, "offline")
    first, second = sync(tmp_path, server), sync(tmp_path, server)
    assert sum(one["num_bytes"] for one in first.values()) == 600_000
    assert {one["problem"] for one in (*first.values(), *second.values())} == {""}
    assert sum(one["num_bytes"] for one in second.values()) == 0
    check_trained(client, server, "offline", run, tmp_path)
    left = [path for path in (tmp_path / ".danlu" / "runs" / "artifacts").rglob("*") if path.is_file()]
    assert {path.name for path in left} == {"artifact.jsonl"}, "copies are dropped once the server has the bytes"


def test_beside_a_server_the_companion_sends_them(client: Client, server: RunningServer, tmp_path: Path) -> None:
    run = train(tmp_path, "beside", DANLU_URL=server.url, DANLU_API_KEY=server.api_key)
    wait_until(
        lambda: len(edges_of(server.data_dir, f"run:{run}")) >= 3,
        lambda: [path.read_text() for path in tmp_path.rglob("companion.log")],
    )
    check_trained(client, server, "beside", run, tmp_path)


def test_in_a_job_the_node_sends_them(client: Client, server: RunningServer, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(TRAINS)
    job = client.jobs.submit(
        name="makes", command="python train.py inside", code={"path": str(code)}, env={"PYTHONPATH": SOURCE}
    )
    assert job.wait().state is JobState.SUCCEEDED, "\n".join(line.text for line in job.logs())
    (run,) = [one for one in client.runs.list(job=job.id) if not one.is_own]
    versions = list(client.artifacts.versions("inside-model"))
    assert sorted((one.version, one.run, one.job) for one in versions) == [(1, run.id, job.id), (2, run.id, job.id)]
    for one in versions:
        client.artifacts.download(one, tmp_path / f"back-{one.version}")
        assert (f"job:{job.id}", f"artifact:{one.id}", "made") in edges_of(server.data_dir, f"artifact:{one.id}")


def test_a_version_is_loaded_by_name_and_marked(
    client: Client, server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("DANLU_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DANLU_URL", server.url)
    monkeypatch.setenv("DANLU_API_KEY", server.api_key)
    warn.forget()
    (tmp_path / "x").write_bytes(b"first")
    made = track.artifact("by-name").add_file("x")
    assert made.upload()
    assert made.version == 1
    (tmp_path / "x").write_bytes(b"second")
    assert track.artifact("by-name", aliases=["best"]).add_file("x").upload()
    assert track.load_artifact("by-name:best").version == 2
    first = track.load_artifact("by-name:1")
    assert Path(first.download("old"), "x").read_bytes() == b"first"
    with pytest.raises(FileNotFoundError, match="no version 'by-name:9'"):
        track.load_artifact("by-name:9")
    run = track.start("reads")
    run.mark_input(first)
    run.finish()
    sync(tmp_path, server)
    assert edges_of(server.data_dir, f"run:{run.id}") == {(f"artifact:{made.id}", f"run:{run.id}", "input")}
