"""A server to be hurt, and what its jobs leave on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.testing.footprint import Footprint
from danlu.testing.serving import RunningServer


@pytest.fixture
def hurt(tmp_path: Path) -> Iterator[RunningServer]:
    """Not started. Killed at the end: a test that passes has left nothing running."""
    server = RunningServer(tmp_path / "data", "--simulate", "npu:910b:4")
    yield server
    server.kill()


@pytest.fixture
def footprint(hurt: RunningServer) -> Footprint:
    return Footprint(hurt.data_dir)
