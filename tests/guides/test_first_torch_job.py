"""docs/guide/first-torch-job.md from its first to its last command, as a user without rights with an empty home.

In `make test` the packages are those of the tests, and the job requires a small wheel in place of torch; in
`make test-long` a wheel of Danlu is built and installed, and torch too.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from tests.guides.test_docs import LINK, ROOT, blocks_of
from tests.security.sandbox.test_not_root import UID, as_another_user
from tests.support.wheels import make_wheel

PAGE = ROOT / "docs" / "guide" / "first-torch-job.md"
MAX_COMMANDS = 12
INSTALL = "pip install 'danlu[server]'"
UP = "danlu up"
PACKAGES = "/srv"
"""Where the packages of the tests are seen: they may be in /tmp, which jobs do not see."""

WAIT_FOR_LINK = """danlu up > ~/up.log 2>&1 &
trap 'kill %1; wait' EXIT
until link=$(grep -o 'http[^ ]*signin[^ ]*' ~/up.log); do kill -0 %1; sleep 0.1; done
"""
USE_TESTS_PACKAGES = """
python - <<'EOF'
import site
with open(site.getsitepackages()[0] + "/tests.pth", "w") as file:
    file.write("import site; site.addsitedir({packages!r})\\n")
EOF
(echo "#!$HOME/danlu/bin/python"; tail -n +2 {program}) > ~/danlu/bin/danlu
chmod +x ~/danlu/bin/danlu
"""


def commands() -> list[str]:
    found = [block for block in blocks_of(PAGE) if block.language == "bash"]
    return [line for block in found for line in block.text.splitlines()]


def files() -> dict[str, str]:
    """Name -> text of the files that the page shows."""
    named = ((re.match(r"# ([\w.]+)\n", block.text), block.text) for block in blocks_of(PAGE))
    return {name[1]: text for name, text in named if name is not None}


class Journey:
    """A home of somebody without rights, and what the page says typed there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.chmod(0o755)
        self.home = folder / "their" / "home"
        self.work = self.home / "spheres"
        self.work.mkdir(parents=True)
        for name, text in files().items():
            (self.work / name).write_text(text)

    def run(
        self, replaced: dict[str, str], *, env: dict[str, str] | None = None, mounted: dict[str, str] | None = None
    ) -> str:
        """Execute every command, and return what was shown, with the seconds of each."""
        lines = []
        for command in commands():
            script = replaced.get(command, command).replace(f"'{LINK}'", '"$link"')
            lines += [f"echo {shlex.quote('$ ' + command)}", f"began=$EPOCHREALTIME\n{script}", "took"]
        took = 'took() { python3 -c "print(f\\"took {$EPOCHREALTIME - $began:.1f} s\\")"; }'
        page = self.folder / "page.sh"
        page.write_text("\n".join(["set -e -o pipefail", took, f"cd {self.work}", *lines]))
        for path in (self.home.parent, *self.home.parent.rglob("*")):
            os.chown(path, UID, UID)
        python = Path(os.path.realpath(sys.executable)).parent
        words = [
            *("env", f"HOME={self.home}", f"PATH={python}:/usr/local/bin:/usr/bin:/bin"),
            *("DANLU_SERVER_PORT=0", "DANLU_SERVER_ENDPOINTS_PORT=0", "LC_ALL=C.UTF-8"),
            *(f"{name}={value}" for name, value in (env or {}).items()),
            *("bash", str(page)),
        ]
        argv = as_another_user(words, self.folder, mounted=mounted or {})
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd="/")
        log = self.home / "up.log"
        told = log.read_text() if log.exists() else ""
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n--- the server:\n{told}"
        return done.stdout


@pytest.fixture
def journey() -> Iterator[Journey]:
    if os.geteuid() != 0:
        pytest.skip("needs to be root, to become somebody who is not")
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        yield Journey(Path(folder))


def check(shown: str) -> None:
    accuracies = [float(found) for found in re.findall(r"accuracy ([0-9.]+)", shown)]
    assert len(accuracies) == 2
    assert accuracies[0] > max(0.8, accuracies[1])
    assert shown.count("danlu: making an environment from requirements.txt") == 1
    compared = shown.partition("$ danlu runs compare")[2].partition("$ danlu models")[0]
    assert re.search(r"lr .*0\.01 .*0\.001", compared), compared
    model = shown.partition("$ danlu models show")[2]
    assert "champion" in model
    assert "model.pt" in model or "val/acc" in model, model


def test_it_is_short() -> None:
    assert len(commands()) <= MAX_COMMANDS
    assert [command for command in commands() if command.startswith("sudo")] == []


def test_with_a_small_package(journey: Journey) -> None:
    wheels = journey.work / "wheels"
    wheels.mkdir()
    name, data = make_wheel("iron")
    (wheels / name).write_bytes(data)
    (journey.work / "requirements.txt").write_text("--no-index\n--find-links wheels\niron\n")
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    program = Path(sys.executable).with_name("danlu")
    shown = journey.run(
        {
            INSTALL: USE_TESTS_PACKAGES.format(packages=PACKAGES, program=program),
            UP: WAIT_FOR_LINK,
        },
        mounted={packages: PACKAGES},
    )
    check(shown)


@pytest.mark.long
def test_with_torch(journey: Journey) -> None:
    """What it shows of times is what the page says."""
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(journey.folder / "dist"))
    env = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    if env:  # where packages come from on this machine
        lines = "".join(f"  {name}: {value!r}\n" for name, value in env.items())
        (journey.work / "job.yml").write_text(f"{files()['job.yml']}env:\n{lines}")
    began = time.monotonic()
    shown = journey.run({INSTALL: f"pip install -q '{wheel}[server]'", UP: WAIT_FOR_LINK}, env=env)
    print(shown, f"{time.monotonic() - began:.0f} s")
    check(shown)
