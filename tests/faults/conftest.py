"""Servers to be hurt, and what their jobs leave on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
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


@pytest.fixture(params=["sandbox", "no-sandbox"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningServer]:
    """A running server with a sandbox, and one without."""
    server = RunningServer(tmp_path / "data", "--simulate", "npu:910b:4", f"--{request.param}").start()
    yield server
    server.kill()


@pytest.fixture
def footprint(request: pytest.FixtureRequest) -> Footprint:
    name = "hurt" if "hurt" in request.fixturenames else "either"
    server: RunningServer = request.getfixturevalue(name)
    return Footprint(server.data_dir)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mount small disks, of a size such as 16m. Skips where that is not allowed."""
    made: list[Path] = []

    def mount(size: str) -> Path:
        disk = tmp_path / f"disk{len(made)}"
        disk.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "none", str(disk)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
        made.append(disk)
        return disk

    yield mount
    for disk in made:
        subprocess.run(["umount", "-l", str(disk)], check=True)
