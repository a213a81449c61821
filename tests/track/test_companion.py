"""One companion for all runs of a user, and how runs end that nobody finishes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fakes.run_server import RunServer
from tests.support.written_runs import own_journal

from danlu import journal, track
from danlu.journal import Kind
from danlu.testing.waiting import wait_until
from danlu.track.folders import find_runs
from danlu.track.processes import this_process
from danlu.track.reading import open_journals, read_run
from danlu.track.sync import orders
from danlu.track.sync.attended import Attended
from danlu.track.termination import trace_of

Python = Callable[..., "subprocess.Popen[str]"]

MANY = """
import sys, threading, time
from danlu import track
for number in range(int(sys.argv[1])):
    with track.start(f"run {number}") as run:
        run.log({"loss": 1.0}, step=0)
for _ in range(1000):
    if threading.active_count() > 2:  # this one, and the one that waits for the companion
        time.sleep(0.01)
print(threading.active_count(), flush=True)
sys.stdin.read()
"""


def companions(runtime: Path) -> set[int]:
    """All that are there now, without the processes that start them: those end when there is one."""
    parents = {}
    for name in os.listdir("/proc"):
        try:
            command = Path("/proc", name, "cmdline").read_text() if name.isdigit() else ""
            if "companion.py" in command and str(runtime) in command:
                parents[int(name)] = int(Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return set(parents) - set(parents.values())


def left(runtime: Path) -> list[Path]:
    return list(runtime.rglob("orders/*.json"))


def the_run(folder: Path) -> str:
    (found,) = find_runs(str(folder / ".danlu"))
    return found


def ends(run_folder: str) -> list[dict[str, str]]:
    frames = [frame for one in open_journals(run_folder) for frame in journal.scan(one.data).frames]
    return [journal.decode_json(frame) for frame in frames if frame.kind == Kind.FINISH]


class TestMany:
    def test_200_short_runs_have_one_companion_and_no_thread_each(
        self, python: Python, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with RunServer().serving() as minded:
            monkeypatch.setenv("DANLU_TRACK", "on")
            monkeypatch.setenv("DANLU_URL", minded.url)
            monkeypatch.setenv("DANLU_API_KEY", "dk-very-secret")
            runtime = tmp_path / "runtime"
            most = 0
            child = subprocess.Popen(
                [sys.executable, "-c", MANY, "200"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert child.stdout is not None

            def sent() -> bool:
                nonlocal most
                most = max(most, len(companions(runtime)))
                return len(minded.runs) == 200 and not left(runtime)

            threads = int(child.stdout.readline())
            wait_until(sent)
            child.communicate()
            assert (threads <= 2, most) == (True, 1)
            kept = "".join(path.read_text() for path in runtime.rglob("*") if path.is_file())
            assert "very-secret" not in kept
            assert len(minded.journals) == 400
        wait_until(lambda: not companions(runtime))
        assert list(runtime.rglob("companion.json")) == []

    def test_processes_share_it(self, python: Python, tmp_path: Path) -> None:
        script = "import sys\nfrom danlu import track\nrun = track.start('x')\nprint(1, flush=True)\nsys.stdin.read()\n"
        command = [sys.executable, "-c", script]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        children = [subprocess.Popen(command, **pipes) for _ in range(4)]  # type: ignore[call-overload]
        runtime = tmp_path / "runtime"
        for child in children:
            child.stdout.readline()
        wait_until(lambda: len(open_all(tmp_path)) == 8)
        wait_until(lambda: len(companions(runtime)) == 1)
        (pid,) = companions(runtime)
        os.kill(pid, signal.SIGKILL)
        children[0].kill()  # while nobody looks
        children[0].communicate()
        wait_until(lambda: len(companions(runtime)) == 1)
        for child in children[1:]:
            child.communicate()
        wait_until(lambda: not left(runtime))
        states = sorted(str(read_run(folder).state) for folder in find_runs(str(tmp_path / ".danlu")))
        assert states == ["died", "finished", "finished", "finished"]

    def test_one_that_is_killed_at_the_very_end_is_started_again(self, python: Python, tmp_path: Path) -> None:
        """By the end of the script: nobody else would."""
        script = """
import os, signal
from danlu.track.sync.orders import companion_of, home_of
os.kill(int(sys.stdin.readline()), signal.SIGKILL)
while companion_of(home_of(os.environ)) is not None:
    pass
"""
        child = python(BEGIN + script)
        runtime = tmp_path / "runtime"
        wait_until(lambda: len(open_all(tmp_path)) == 2)
        (pid,) = companions(runtime)
        child.communicate(f"{pid}\n")
        wait_until(lambda: not left(runtime))

    def test_a_folder_that_others_may_read_is_not_used(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        (tmp_path / "runtime" / "danlu").mkdir(mode=0o755)
        run = track.start("x")
        run.finish()
        assert "not a folder that only this user can read" in caplog.text
        assert read_run(run.path).state == "finished"

    def test_an_order_that_makes_no_sense_is_removed(self, tmp_path: Path) -> None:
        home = orders.home_of(os.environ)
        Path(home, orders.ORDERS, "x.json").write_text("[")
        Path(home, orders.ORDERS, "y.json").write_text('{"folder": "/nowhere", "journal": "/nowhere/y", "search": []}')
        run = track.start("x")
        wait_until(lambda: len(left(tmp_path / "runtime")) == 1)
        run.finish()
        wait_until(lambda: not left(tmp_path / "runtime"))

    def test_other_settings_are_served_by_another_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = orders.home_of(os.environ)
        monkeypatch.setenv("DANLU_RUNS_DIR", "elsewhere")
        assert orders.home_of(os.environ) == before
        monkeypatch.setenv("DANLU_API_KEY", "dk-another")
        assert orders.home_of(os.environ) != before


def test_no_room_for_its_journal_does_not_keep_a_run_back(tmp_path: Path) -> None:
    run = track.start("full")
    run.finish()
    journal_file = own_journal(run.path)
    one = Attended(orders.Order(run.path, journal_file.path, ()))
    one._own = str(tmp_path / "no such folder" / "x.journal")
    one.note("environment", {"packages": {}})
    assert (one.has_end(), one.is_new()) == (True, True)
    one._own = str(tmp_path / "x.journal")
    one.note("environment", {"git": {}})
    kinds = [frame.kind for frame in journal.scan((tmp_path / "x.journal").read_bytes()).frames]
    assert kinds == [Kind.RUN, Kind.SET, Kind.SET], "what could not be written is written later"


def test_the_end_that_there_was_no_room_for_is_written_later(tmp_path: Path) -> None:
    run = track.start("full")
    run.finish()
    journal_file = own_journal(run.path)
    one = Attended(orders.Order(run.path, journal_file.path, ()))
    one.folder = str(tmp_path / "no such folder")
    one._own = str(Path(one.folder) / "x.journal")
    one.note_end("died", "it was killed")
    one.say("and this is not worth an exception")
    assert not one.is_noted
    Path(one.folder).mkdir()
    one.note_rest()
    assert one.is_noted
    assert [frame.kind for frame in journal.scan(Path(one._own).read_bytes()).frames] == [Kind.RUN, Kind.FINISH]


def open_all(folder: Path) -> list[object]:
    return [one for run in find_runs(str(folder / ".danlu")) for one in open_journals(run)]


BEGIN = "import sys\nfrom danlu import track\nrun = track.start('x')\n"


class TestExit:
    @pytest.mark.parametrize(
        ("script", "code", "state", "reason"),
        [
            ("sys.exit(3)", 3, "failed", "sys.exit(3)"),
            ("sys.exit('no data')", 1, "failed", "sys.exit('no data')"),
            ("sys.exit()", 0, "finished", ""),
            ("sys.exit(0)", 0, "finished", ""),
            (
                "def main():\n    try:\n        sys.exit(4)\n    finally:\n        run.log({'a': 1})\nmain()",
                4,
                "failed",
                "",
            ),
            ("try:\n    sys.exit(3)\nexcept SystemExit as error:\n    assert error.code == 3", 0, "finished", ""),
            (
                "import threading\none = threading.Thread(target=sys.exit, args=(3,))\none.start()\none.join()",
                0,
                "finished",
                "",
            ),
            ("with run:\n    sys.exit(5)", 5, "failed", "sys.exit(5)"),
        ],
    )
    def test_the_code_counts(
        self, python: Python, tmp_path: Path, script: str, code: int, state: str, reason: str
    ) -> None:
        child = python(BEGIN + script + "\n")
        child.communicate()
        assert child.returncode == code
        (end,) = ends(the_run(tmp_path))
        assert (end["state"], end.get("reason", "")) == (state, reason or end.get("reason", ""))


class TestSigterm:
    def test_a_run_that_is_told_to_end_is_stopped_and_says_where_it_was(self, python: Python, tmp_path: Path) -> None:
        child = python(BEGIN + "def step():\n    print('ready', flush=True)\n    sys.stdin.read()\nstep()\n")
        child = _ready(child)
        child.send_signal(signal.SIGTERM)
        child.communicate()
        assert child.returncode == -signal.SIGTERM
        assert wait_until(lambda: read_run(the_run(tmp_path)).state) == "stopped"
        reason = ends(the_run(tmp_path))[0]["reason"]
        assert reason.startswith("SIGTERM: the process was told to end, in step (script.py, line ")

    def test_a_childs_end_is_not_the_runs(self, python: Python, tmp_path: Path) -> None:
        script = """
import os, signal
pid = os.fork()
if pid == 0:
    print("ready", flush=True)
    signal.pause()
sys.stdin.readline()
os.kill(pid, signal.SIGTERM)
assert os.waitpid(pid, 0)[1] == signal.SIGTERM
os.kill(os.getpid(), signal.SIGKILL)
"""
        child = _ready(python(BEGIN + script))
        wait_until(lambda: len(open_all(tmp_path)) == 2)
        child.communicate("go\n")
        assert wait_until(lambda: read_run(the_run(tmp_path)).state) == "died"

    def test_a_handler_of_the_script_is_let_alone(self, python: Python, tmp_path: Path) -> None:
        before = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        child = _ready(python("import sys\n" + before + BEGIN + "print('ready', flush=True)\nsignal.pause()\n"))
        child.send_signal(signal.SIGTERM)
        child.communicate()
        assert child.returncode == 7
        assert ends(the_run(tmp_path))[0]["state"] == "failed"

    def test_nothing_is_left_after_an_end_without_a_signal(self, python: Python, tmp_path: Path) -> None:
        python(BEGIN).communicate()
        assert list(tmp_path.rglob(".terminated-*")) == []
        assert trace_of("/runs/x-run-1", this_process()).startswith("/runs/.terminated-")


def _ready(child: subprocess.Popen[str]) -> subprocess.Popen[str]:
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child
