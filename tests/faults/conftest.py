"""Servers to be hurt, and what their jobs leave on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from danlu.testing.disks import SmallDisk
from danlu.testing.footprint import Footprint
from danlu.testing.serving import RunningServer


@pytest.fixture
def hurt(tmp_path: Path) -> Iterator[RunningServer]:
    """Not started. Killed at the end: a test that passes has left nothing running."""
    server = RunningServer(tmp_path / "data", "--simulate", "npu:910b:4")
    yield server
    server.kill()


@pytest.fixture(scope="module", params=["sandbox", "no-sandbox"])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A running server with a sandbox, and one without. Its jobs may be hurt, not itself."""
    folder = tmp_path_factory.mktemp(request.param)
    server = RunningServer(folder / "data", "--simulate", "npu:910b:4", f"--{request.param}").start()
    yield server
    server.kill()


@pytest.fixture
def footprint(request: pytest.FixtureRequest) -> Footprint:
    name = "hurt" if "hurt" in request.fixturenames else "either"
    server: RunningServer = request.getfixturevalue(name)
    return Footprint(server.data_dir)


@pytest.fixture
def small_disk() -> Iterator[Callable[[Path, str], SmallDisk]]:
    """Mount small disks at a folder. Skips where that is not allowed."""
    made: list[SmallDisk] = []

    def mount(at: Path, size: str) -> SmallDisk:
        at.mkdir(parents=True, exist_ok=True)
        options = f"size={size},mode=755"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "none", str(at)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
        made.append(SmallDisk(at))
        return made[-1]

    yield mount
    for disk in reversed(made):
        subprocess.run(["umount", "-l", str(disk.path)], check=True)
