"""`danlu plan --explain` of every example, as people read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.cli.jobs.plan_explained import explained_text
from danlu.client import Client
from danlu.client.jobs.jobfile import read_job_file
from danlu.testing.serving import RunningServer

EXAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "examples").glob("*/job.yml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_explained(client: Client, example: Path) -> None:
    if example.name == "image" and not next(client.nodes()).image_tool:
        pytest.skip(f"no images here: {next(client.nodes()).image_problem}")
    job_file = read_job_file(example / "job.yml", [])
    plan = client.jobs.plan(job_file.values, folder=job_file.folder, explain=True)
    text = explained_text(plan)
    for part in (
        "How it is started",
        "When it has succeeded",
        "  runs in /opt/ml/code\n",
        "  files\n",
        "  folders\n",
        "Good to know",
    ):
        assert part in text
    for name in plan.tasks[0].env:
        assert f"    {name}=" in text
    assert max(map(len, text.splitlines())) < 2000
    assert plan.explanation is not None
    assert [task.rank for task in plan.explanation.tasks] == [task.rank for task in plan.tasks]


def test_the_command_line_explains(server: RunningServer) -> None:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key}
    job = str(EXAMPLES[0] / "job.yml")
    done = subprocess.run(
        [sys.executable, "-m", "danlu", "plan", job, "--explain", "--rank", "1"],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Rank 1\n  a worker on " in done.stdout
    assert "Rank 0" not in done.stdout
    done = subprocess.run([*done.args, "--json"], capture_output=True, text=True, env=env, check=True)
    shown = json.loads(done.stdout)
    assert [[task["rank"] for task in part["tasks"]] for part in (shown, shown["explanation"])] == [[1], [1]]
