"""Builds of the core without Python: with sanitizers, and for another processor."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ACCEL = Path(__file__).resolve().parents[3]
Build = Callable[..., Path]


@pytest.fixture(scope="session")
def corpus() -> list[str]:
    return sorted(str(path) for path in (ACCEL / "native" / "fuzz" / "corpus").iterdir())


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Configure and build with CMake; return the folder with the programs."""

    def make(*options: str, flags: str = "-O1 -g") -> Path:
        cmake = shutil.which("cmake")
        if cmake is None:
            pytest.skip("needs cmake")
        folder = tmp_path_factory.mktemp("build")
        configure = [
            cmake,
            "-S",
            str(ACCEL),
            "-B",
            str(folder),
            "-DDANLU_FUZZ=ON",
            f"-DCMAKE_CXX_FLAGS={flags}",
            *options,
        ]
        for command in (configure, [cmake, "--build", str(folder), "-j2"]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return folder

    return make


@pytest.fixture(scope="session")
def install() -> Callable[..., None]:
    """Install Debian packages if we may; skip with the command otherwise."""

    def make(*packages: str, architecture: str = "") -> None:
        missing = [
            name
            for name in packages
            if subprocess.run(["dpkg", "-s", name], capture_output=True, check=False).returncode
        ]
        if not missing:
            return
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            pytest.skip(f"needs Debian packages: apt-get install {' '.join(missing)}")
        if architecture:
            subprocess.run(["dpkg", "--add-architecture", architecture], check=True)
            subprocess.run(["apt-get", "update", "-q"], check=True, capture_output=True)
        done = subprocess.run(
            ["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"cannot install {' '.join(missing)}: {done.stderr.strip().splitlines()[-1]}")

    return make
