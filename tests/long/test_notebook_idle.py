"""A notebook that nobody uses ends, and its job with it. JupyterLab looks once a minute."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.testing.serving import RunningServer

pytest.importorskip("jupyterlab")


@pytest.mark.long
def test_an_idle_notebook_ends(server: RunningServer, tmp_path: Path) -> None:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key, "HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "danlu", "notebook", "--name", "left alone", "--idle", "1s"]
    subprocess.run(argv, env=env, capture_output=True, check=True)
    with server.client() as client:
        assert client.jobs.get("left alone").wait().state == "succeeded"
