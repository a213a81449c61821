"""The gallery from a shell: what it lists runs, and what it copies can be submitted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from danlu.client import Client
from danlu.testing.serving import RunningServer


def danlu(server: RunningServer, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "LC_ALL": "C.UTF-8", **more}
    command = [sys.executable, "-m", "danlu", "examples", *words]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def test_they_are_listed_with_what_this_machine_lacks_for_them(server: RunningServer) -> None:
    rows = {row["name"]: row for row in json.loads(danlu(server, "list", "--json").stdout)}
    # where these tests run there is torch, and there are 8 simulated NPUs on one node
    assert [(need["name"], need["is_met"]) for need in rows["ddp_images"]["needs"]] == [
        ("torch", True),
        ("numpy", True),
    ]
    listed = danlu(server, "list", "--tag", "npu").stdout
    assert "missing: 2 × npu:910b:8" in listed
    assert "hello" not in listed
    assert "双节点" in danlu(server, "show", "ddp_images", LC_ALL="zh_CN.UTF-8").stdout
    train = danlu(server, "show", "hello", "--file", "code/train.py").stdout
    assert train == (Path(__file__).parents[2] / "examples" / "hello" / "code" / "train.py").read_text()


def test_one_runs_with_a_field_changed(server: RunningServer) -> None:
    done = danlu(server, "run", "hello", "--set", "hyperparameters.steps=20")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "step 20: loss" in done.stdout
    assert "step 30" not in done.stdout


def test_a_copy_is_a_folder_of_ones_own(client: Client, server: RunningServer, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    done = danlu(server, "copy", "image", str(folder))
    assert done.returncode == 0, done.stderr
    assert f"danlu submit {folder / 'job.yml'}" in done.stderr
    assert os.access(folder / "make_image.sh", os.X_OK)
    again = danlu(server, "copy", "image", str(folder))
    assert (again.returncode, "is not overwritten" in again.stderr) == (1, True)
