"""The journey of a TI-ONE user: our example makes the same calls, and everything is where they look for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from danlu.client import Client
from danlu.client.cluster import catalogues
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

EXAMPLE = Path(__file__).parents[2] / "examples" / "ti_one"
BUCKET = "demo-1256580188"
STEPS = 510
"""On two nodes: more than 1,000 lines."""


def test_the_journey(make_server: Callable[..., RunningServer], tmp_path: Path) -> None:
    server = make_server("--simulate", "gpu:v100:2")
    with server.client() as client:
        wanted = catalogues.adapted(catalogues.parse(catalogues.read_text("ti-one")), devices_only=True)
        assert all(one.is_new for one in catalogues.load(wanted, flavors=client.flavors, frameworks=client.frameworks))
        client.store.make_bucket(BUCKET)
        said = journey(server, client)
        (job,) = client.jobs.list()
        assert all(word in said for word in ("torch1.9-py3.8-cuda11.1-gpu", "18.4008", f"{job.id} SUCCEED")), said
        assert int(said.partition(" lines of log")[0].rpartition(" ")[2]) >= 2 * STEPS
        check_files(client, job.id, tmp_path)
        check_metrics(client, job.id)
        version = client.models.version("dots-model")
        assert (version.job, version.format, version.framework) == (job.id, "pytorch", "PYTORCH")
        assert version.tags["inference-environment"] == "torch1.9.0-py38-cu111"
        assert version.metrics["train/acc1"] == 100.0


def journey(server: RunningServer, client: Client) -> str:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, str(EXAMPLE / "journey.py"), BUCKET, str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        logs = [str(line) for job in client.jobs.list() for line in job.logs(tail=100)]
        raise AssertionError("\n".join([done.stdout[-2000:], done.stderr, *logs]))
    return done.stdout


def check_files(client: Client, job_id: str, folder: Path) -> None:
    keys = {one.key for one in client.store.list(f"{BUCKET}/")}
    assert {"dots-demo/data/labels.json", "dots-demo/code/main.py", f"output/{job_id}/model/model.pt"} <= keys
    client.models.download("dots-model", folder / "model")
    assert torch.load(folder / "model" / "model.pt", weights_only=True)["weight"].shape == (4, 64)


def check_metrics(client: Client, job_id: str) -> None:
    run_id = client.jobs.get(job_id).details.run
    assert run_id is not None
    run = client.runs.get(run_id)
    line = wait_until(lambda: found if len((found := run.points("train/acc1", axis="epoch")).value) == 3 else None)
    assert line is not None
    assert line.epoch == [1.0, 2.0, 3.0]
