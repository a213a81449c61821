"""MLflow's own client, as the package index has it, in an environment of its own, against the door."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.support.venvs import venv_with
from tests.support.world import make_world

pytestmark = pytest.mark.long


def test_a_journey_with_mlflows_own_client(tmp_path: Path) -> None:
    python = venv_with("mlflow-client", "mlflow-skinny>=3.10")
    with make_world(tmp_path / "data") as world, world.serving() as url:
        env = {
            "HOME": str(tmp_path),
            "PATH": "/usr/bin:/bin",
            "MLFLOW_TRACKING_URI": f"{url}/compat/mlflow",
            "MLFLOW_TRACKING_TOKEN": world.api_key(),
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }
        script = Path(__file__).with_name("mlflow_journey.py")
        done = subprocess.run([python, script], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.rstrip().rpartition("\n")[2])
    assert found == {
        "run": ["FINISHED", {"lr": "0.01", "model": "cnn", "deep": "True"}, 0.98, True],
        "history": [step / 50 for step in range(50)],
        "files": ["config.json", "model"],
        "bytes": 100_000,
        "searched": ["first"],
        "children": True,
        "version": "1",
        "model file": "flavors: {}\n",
        "trace": [True, ["predict", "look up"], "OK", 1, 0],
        "deleted": ["vision/base"],
    }
