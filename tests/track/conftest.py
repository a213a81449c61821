"""Runs in a folder of their own, without anything of the outer environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu.track import warn

OUTER = ("DANLU_", "RANK", "OMPI_", "PMI", "SLURM_", "MV2_")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No job, no rank, no server; journals below the test's folder; nothing is sent."""
    for name in [name for name in os.environ if name.startswith(OUTER)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DANLU_CONFIG", str(tmp_path / "no-config.yml"))
    monkeypatch.setenv("DANLU_TRACK", "offline")
    (tmp_path / "runtime").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.chdir(tmp_path)
    warn.forget()


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start a script in a process of its own."""

    def start(script: str, *arguments: str, **env: str) -> subprocess.Popen[str]:
        path = tmp_path / "script.py"
        path.write_text(script)
        return subprocess.Popen(
            [sys.executable, str(path), *arguments],
            cwd=tmp_path,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start
