"""A notebook that nobody uses ends, after its owner was told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.testing.serving import RunningServer


@pytest.mark.long
def test_an_idle_notebook_ends(server: RunningServer, tmp_path: Path) -> None:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "danlu", "notebook", "--name", "left alone", "--idle", "1m"]
    subprocess.run(argv, env=env, capture_output=True, check=True)
    with server.client() as client:
        job = client.jobs.get("left alone").wait()
        assert (job.state, job.reason.code) == ("stopped", "idle_limit")
        assert "ends_idle" in [alert.kind for alert in job.alerts()]
