"""The companion as a sender: killed, over a line that ends connections when they are idle and in the middle, and to a
server whose disk is full."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults.conftest import small_disk
from tests.support.artifact_kills import check_artifacts
from tests.support.bad_line import BadLine

from danlu.testing.disks import SmallDisk
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until
from danlu.track.folders import find_runs
from danlu.track.reading import open_journals
from danlu.track.sync.orders import companion_of
from danlu.transfer.api import Api
from danlu.transfer.http_carrier import HttpCarrier
from danlu.transfer.retrying import Retry

pytestmark = pytest.mark.long
__all__ = ["small_disk"]  # a fixture
NUM_RUNS, NUM_KILLS = 12, 4
"""A process starts it again five times."""

SCRIPT = """
import os, sys
from danlu import track
for number in range(int(sys.argv[1])):
    with open("model.pt", "wb") as file:
        file.write(os.urandom(300_000))
    with track.start(f"killed {number}") as run:
        for step in range(500):
            run.log({"loss": step}, step=step, flush=step % 50 == 0)
        run.mark_output(track.artifact("killed/model").add_file("model.pt"))
print("done", flush=True)
with track.start("the last one"):
    sys.stdin.read()
"""


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Callable[[str, str], subprocess.Popen[str]]]:
    made: list[subprocess.Popen[str]] = []
    (tmp_path / "runtime").mkdir()

    def start(url: str, api_key: str) -> subprocess.Popen[str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith("DANLU_")}
        env.update(DANLU_URL=url, DANLU_API_KEY=api_key, XDG_RUNTIME_DIR=str(tmp_path / "runtime"))
        child = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(NUM_RUNS)],
            cwd=tmp_path,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        made.append(child)
        return child

    yield start
    for child in made:
        child.kill()
        child.communicate()


def wait_for_companion(runtime: Path, before: int) -> int:
    """The one that is there and is not the one before."""

    def look() -> int:
        homes = [path.parent for path in runtime.rglob("orders") if path.is_dir()]
        process = companion_of(str(homes[0])) if homes else None
        return process.pid if process is not None and process.pid != before else 0

    return int(wait_until(look))


def said(folder: Path) -> list[str]:
    """What the companion could not do so far."""
    return [line for path in folder.rglob("companion.log") for line in path.read_text().splitlines()]


def check_all_arrived(server: RunningServer, tmp_path: Path, *, num_runs: int, num_versions: int) -> None:
    wait_until(lambda: not list((tmp_path / "runtime").rglob("orders/*.json")))
    with server.client() as client:
        assert len(list(client.runs.list())) == num_runs
        versions = list(client.artifacts.versions("killed/model"))
        assert sorted(one.version for one in versions) == list(range(1, num_versions + 1))
        assert {one.size for one in versions} == {300_000}
        for folder in find_runs(str(tmp_path / ".danlu")):
            for one in open_journals(folder):
                assert _offset(server, one.header["run"], one.journal_id) == os.path.getsize(one.path)


def _offset(server: RunningServer, run: str, journal: str) -> int:
    carrier = HttpCarrier(server.url, server.api_key)
    try:
        return int(Api(carrier, Retry(30.0)).get(f"/runs/{run}/journals/{journal}")["offset"])
    finally:
        carrier.close()


def test_it_is_killed_again_and_again(
    make_server: Callable[..., RunningServer], script: Callable[[str, str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    server = make_server()
    child = script(server.url, server.api_key)
    pid = 0
    for _ in range(NUM_KILLS):
        pid = wait_for_companion(tmp_path / "runtime", pid)
        os.kill(pid, signal.SIGKILL)
    wait_for_companion(tmp_path / "runtime", pid)
    assert child.stdout is not None
    assert child.stdout.readline() == "done\n"
    child.communicate()
    check_all_arrived(server, tmp_path, num_runs=NUM_RUNS + 1, num_versions=NUM_RUNS)


def test_over_a_line_that_ends_idle_connections(
    make_server: Callable[..., RunningServer], script: Callable[[str, str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    server = make_server()
    line = BadLine(server.url)
    line.idle_seconds = 0.01
    line.cut("request", 0.1, 200_000)
    line.cut("answer", 0.1, 2_000)
    try:
        child = script(line.url, server.api_key)
        assert child.stdout is not None
        assert child.stdout.readline() == "done\n"
        child.communicate()
        check_all_arrived(server, tmp_path, num_runs=NUM_RUNS + 1, num_versions=NUM_RUNS)
    finally:
        line.go()


def test_to_a_server_without_room(
    small_disk: Callable[[Path, str], SmallDisk],
    script: Callable[[str, str], subprocess.Popen[str]],
    tmp_path: Path,
) -> None:
    server = RunningServer(tmp_path / "data")
    disk = small_disk(server.data_dir, "64m")
    server.start()
    try:
        disk.fill()
        child = script(server.url, server.api_key)
        assert child.stdout is not None
        assert child.stdout.readline() == "done\n"
        for room in (1 << 20, 0):
            num_tries = len(said(tmp_path))
            wait_until(lambda num_tries=num_tries: len(said(tmp_path)) > num_tries)  # type: ignore[misc]
            disk.empty()
            disk.fill(leave_bytes=room)
            check_artifacts(server.data_dir)
        disk.empty()
        child.communicate()
        check_all_arrived(server, tmp_path, num_runs=NUM_RUNS + 1, num_versions=NUM_RUNS)
        check_artifacts(server.data_dir)
    finally:
        server.kill()
