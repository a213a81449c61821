"""`pip install ./accel` in a fresh environment: with a compiler, without one, and editable."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long
ROOT = Path(__file__).resolve().parents[4]


def fresh(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    shutil.copytree(ROOT / "accel", tmp_path / "accel", ignore=shutil.ignore_patterns("build", "__pycache__", "*.so"))
    return tmp_path / "venv" / "bin" / "python"


def advice(python: Path) -> str:
    code = "from danlu_accel.records import native; print(native.advice())"
    return subprocess.run([str(python), "-c", code], cwd="/", capture_output=True, text=True, check=True).stdout


def pip_install(python: Path, *arguments: str, **environment: str) -> None:
    command = [str(python), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt"), *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("editable", [False, True])
def test_with_a_compiler_the_core_is_there(tmp_path: Path, editable: bool) -> None:
    python = fresh(tmp_path)
    pip_install(python, *(["-e"] if editable else []), str(tmp_path / "accel"))
    assert "native core" in advice(python)


def test_without_a_compiler_it_installs_and_says_what_is_missing(tmp_path: Path) -> None:
    python = fresh(tmp_path)
    pip_install(python, str(tmp_path / "accel"), CXX="/nonexistent/c++")
    assert "install a C++ compiler" in advice(python)


def test_without_headers_it_installs_too(tmp_path: Path) -> None:
    python = fresh(tmp_path)
    pip_install(python, str(tmp_path / "accel"), CMAKE_ARGS="-DCMAKE_DISABLE_FIND_PACKAGE_JPEG=ON")
    assert "libjpeg-turbo's headers" in advice(python)
