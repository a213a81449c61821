"""The script that installs system packages, on machines that lack them: tools of the system are replaced."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "system-packages.sh"


class Machine:
    """A PATH on which only these tools are, each a few lines of shell."""

    def __init__(self, folder: Path, *, user: int, unknown_package: str = "") -> None:
        self._folder = folder
        self._told = folder / "installed"
        self._tool("id", f"echo {user}")
        self._tool("g++", "exit 1")
        self._tool("python3", 'case "$*" in *Python.h*) exit 1 ;; esac')
        self._tool("apt-get", f'[ "${{@: -1}}" != "{unknown_package}" ] && echo "$@" >>{self._told}')

    def run(self) -> subprocess.CompletedProcess[str]:
        bash = shutil.which("bash")
        assert bash is not None
        env = {"PATH": str(self._folder)}
        return subprocess.run([bash, str(SCRIPT)], env=env, capture_output=True, text=True, check=False)

    @property
    def installed(self) -> list[str]:
        lines = self._told.read_text().splitlines() if self._told.exists() else []
        return [line.split()[-1] for line in lines if line.startswith("install ")]

    def _tool(self, name: str, text: str) -> None:
        (self._folder / name).write_text(f"#!{shutil.which('bash')}\n{text}\n")
        (self._folder / name).chmod(0o755)


@pytest.mark.parametrize("unknown", ["bubblewrap", "libjpeg-dev"])
def test_a_package_that_is_unknown_does_not_leave_out_the_others(tmp_path: Path, unknown: str) -> None:
    machine = Machine(tmp_path, user=0, unknown_package=unknown)
    done = machine.run()
    wanted = ["bubblewrap", "slirp4netns", "libjpeg-dev", "python3-dev"]
    assert done.returncode == 0
    assert machine.installed == [package for package in wanted if package != unknown]
    assert [line.split()[1] for line in done.stderr.splitlines()] == [unknown]


def test_without_root_it_says_what_is_missed_and_goes_on(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000)
    done = machine.run()
    assert (done.returncode, machine.installed) == (0, [])
    assert done.stderr.splitlines()[-1] == (
        "note: python3-dev is not installed: danlu-accel decodes images through Pillow, several times slower "
        "(installing it needs root and apt-get)"
    )
