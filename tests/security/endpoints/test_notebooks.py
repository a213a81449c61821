"""Notebooks have no password: nobody but the proxy reaches them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from danlu.cli.jobs.notebook import _job
from danlu.node.supervise.api_door import API_URL
from danlu.spec.endpoints import JUPYTER_OPTIONS, OWN_NETWORK_URL


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        (API_URL, 0, "started"),
        ("http://127.0.0.1:8400", 1, "a notebook needs its own network"),
        ("", 1, "a notebook needs its own network"),
    ],
)
def test_one_does_not_start_in_the_network_of_the_machine(tmp_path: Path, url: str, code: int, said: str) -> None:
    """Everybody's jobs are there, and would be its user."""
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\necho started\n")
    python.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DANLU_URL": url}
    done = subprocess.run(["sh", "-c", _job("2h")["command"]], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stdout.startswith(said)


def test_it_listens_on_loopback_of_its_own_network() -> None:
    assert OWN_NETWORK_URL == API_URL
    assert "--ip=127.0.0.1" in JUPYTER_OPTIONS.split()
