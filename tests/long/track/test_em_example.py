"""The example for `t9k.em` with its artifact, as its guide starts it: two DDP ranks, and a connected data flow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.support.flows import edges_of

import danlu
import t9k
from danlu.client import Client
from danlu.testing.serving import RunningServer

EXAMPLE = Path(__file__).parents[3] / "examples" / "em_ddp" / "train.py"
SOURCES = os.pathsep.join(str(Path(one.__file__ or "").parents[1]) for one in (danlu, t9k))
pytestmark = pytest.mark.long


def test_the_run_the_artifact_and_the_edge_between_them(client: Client, server: RunningServer, tmp_path: Path) -> None:
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("DANLU_", "T9K_", "EM_"))}
    address = {"AIS_HOST": server.url, "API_KEY": server.api_key, "PYTHONPATH": SOURCES, "OMP_NUM_THREADS": "1"}
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(EXAMPLE)]
    done = subprocess.run(
        [sys.executable, *launch], cwd=tmp_path, env={**outer, **address}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (run,) = client.runs.list("name = 'mnist_torch_distributed'", folder="em-examples")
    version = client.artifacts.get("em-examples/mnist_torch_saved_model")
    assert version.run == run.id
    assert edges_of(server.data_dir, f"run:{run.id}") == {(f"run:{run.id}", f"artifact:{version.id}", "output")}
    (back,) = client.artifacts.download(version, tmp_path / "back")
    state = torch.load(back, weights_only=True)
    assert sorted(state) == sorted(
        f"{name}.{part}" for name in ("conv1", "dense1", "dense2") for part in ("bias", "weight")
    )
