"""Calling commands as a person would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from danlu.cli import main
from danlu.testing.serving import RunningServer


class Said(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder to work in, with no settings of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("DANLU_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DANLU_CONFIG", str(tmp_path / "config.yml"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def offline(alone: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """A command where no server is needed, or none is there."""

    def call(*words: str) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        code = ended.value.code
        assert isinstance(code, int) or code is None
        return Said(code or 0, *capsys.readouterr())

    return call


@pytest.fixture
def danlu(offline: Callable[..., Said], server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """A command of somebody who is signed in."""
    monkeypatch.setenv("DANLU_URL", server.url)
    monkeypatch.setenv("DANLU_API_KEY", server.api_key)
    return offline


@pytest.fixture
def process(danlu: Callable[..., Said]) -> Callable[..., subprocess.Popen[str]]:
    """A command in a process of its own, to be interrupted."""

    def start(*words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "danlu", *words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start
