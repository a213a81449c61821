"""What happens to the journal when things happen to the process: kill, fork, a full disk, an exception."""

from __future__ import annotations

import mmap
import os
import signal
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from danlu import journal
from danlu.journal import Kind
from danlu.testing.waiting import wait_until
from danlu.track.folders import find_runs
from danlu.track.reading import JournalFile, Point, open_journals, points, read_run

Python = Callable[..., "subprocess.Popen[str]"]
POINTS_PER_MS = 16

LOGS_FOR_EVER = f"""
import mmap, struct, time
from danlu import track

file = open("logged", "r+b")
shared = mmap.mmap(file.fileno(), 0)
run = track.start("killed")
step = 0
print("ready", flush=True)
while True:
    run.log({{"loss": 1.0, "accuracy": step}}, step=step)
    step += 1
    struct.pack_into("<q", shared, 0, step)
    if step % {POINTS_PER_MS} == 0:
        time.sleep(0.001)
"""

FLUSHES = """
import sys
from danlu import track

run = track.start("flushed")
for step in range(100_000_000):
    run.log({"loss": 1.0}, step=step, flush=True)
    sys.stdout.write(f"{step}\\n")
    sys.stdout.flush()
"""


def the_run(folder: Path) -> str:
    (found,) = find_runs(str(folder / ".danlu"))
    return found


def own_journal(folder: Path) -> JournalFile:
    return next(one for one in open_journals(the_run(folder)) if one.header["writer"] == "process")


def own_points(folder: Path) -> list[Point]:
    return list(points(own_journal(folder)))


def wait_for_state(folder: Path) -> str | None:
    """How the companion, or the process, says that it ended."""
    return wait_until(lambda: read_run(the_run(folder)).state)


class TestKill:
    def test_kill_9_loses_at_most_the_last_50_ms(self, python: Python, tmp_path: Path) -> None:
        """So many points as the script can log in that time, and not the time itself, which others may take from it."""
        (tmp_path / "logged").write_bytes(bytes(8))
        child = python(LOGS_FOR_EVER)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        with (tmp_path / "logged").open("r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
            wait_until(lambda: struct.unpack("<q", shared[:8])[0] > 2000)
            child.kill()
            child.communicate()
            (num_logged,) = struct.unpack("<q", shared[:8])
        kept = [point.step for point in own_points(tmp_path) if point.name == "loss"]
        assert kept == list(range(len(kept)))  # no hole, no point twice
        assert num_logged - len(kept) <= 50 * POINTS_PER_MS

    def test_kill_9_loses_nothing_that_was_flushed(self, python: Python, tmp_path: Path) -> None:
        child = python(FLUSHES)
        assert child.stdout is not None
        for _ in range(200):
            child.stdout.readline()
        child.kill()
        rest, _ = child.communicate()
        acknowledged = 200 + rest.count("\n")
        kept = [point.step for point in own_points(tmp_path)]
        assert kept == list(range(len(kept)))
        assert len(kept) >= acknowledged

    def test_a_killed_run_is_marked_as_died(self, python: Python, tmp_path: Path) -> None:
        child = python(FLUSHES)
        assert child.stdout is not None
        child.stdout.readline()
        wait_until(lambda: len(open_journals(the_run(tmp_path))) == 2)  # the companion is there
        child.kill()
        child.communicate()
        assert wait_for_state(tmp_path) == "died"


class TestCompanion:
    def test_is_started_again_when_it_is_killed(self, python: Python, tmp_path: Path) -> None:
        child = python("import time\nfrom danlu import track\nrun = track.start('long')\ntime.sleep(3600)\n")
        try:
            first = _wait_for_companion(tmp_path, not_pid=0)
            os.kill(first, signal.SIGKILL)
            second = _wait_for_companion(tmp_path, not_pid=first)
            assert second != first
        finally:
            child.kill()
            child.communicate()
        assert wait_for_state(tmp_path) == "died"

    def test_notes_packages_and_the_use_of_the_machine(self, python: Python, tmp_path: Path) -> None:
        enough = tmp_path / "enough"
        script = "import os\nfrom danlu import track\nrun = track.start('busy')\n"
        child = python(script + f"while not os.path.exists({str(enough)!r}): pass\nrun.finish()\n")

        def measured() -> dict[str, float]:
            journals = [one for run in find_runs(str(tmp_path / ".danlu")) for one in open_journals(run)]
            of_companion = [one for one in journals if one.header["writer"] == "companion"]
            return {point.name: point.value for one in of_companion for point in points(one)}

        wait_until(measured)
        enough.touch()
        child.communicate()
        use = measured()
        assert use["cpu_percent"] > 5
        assert 1e6 < use["memory_bytes"] < 1e11
        known = read_run(the_run(tmp_path)).environment
        assert known["packages"]["pytest"]
        assert known["command"][-1].endswith("script.py")


def _wait_for_companion(folder: Path, *, not_pid: int) -> int:
    def look() -> int:
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == not_pid:
                continue
            try:
                command = Path("/proc", name, "cmdline").read_text()
            except OSError:
                continue
            if "companion.py" in command and str(folder) in command:
                return int(name)
        return 0

    return wait_until(look)


class TestProcess:
    def test_an_exception_ends_the_run_as_failed(self, python: Python, tmp_path: Path) -> None:
        child = python("from danlu import track\nrun = track.start('bad')\nprint('hello')\nraise ValueError('boom')\n")
        out, err = child.communicate()
        assert (child.returncode, out) == (1, "hello\n")
        assert err.endswith("ValueError: boom\n")
        frames = journal.scan(own_journal(tmp_path).data).frames
        assert journal.decode_json(frames[-1])["reason"] == "ValueError: boom"
        printed: dict[int, bytes] = {1: b"", 2: b""}
        for frame in frames:
            if frame.kind == Kind.OUTPUT:
                found = journal.decode_output(frame)
                printed[found.stream] += found.data
        assert printed == {1: b"hello\n", 2: err.encode()}

    def test_a_forked_child_is_silent(self, python: Python, tmp_path: Path) -> None:
        script = """
import os, sys
from danlu import track
run = track.start("forks")
run.log({"loss": 1}, step=0)
pid = os.fork()
if pid == 0:
    for step in range(100):
        run.log({"loss": 2}, step=step)
    run.finish()
    sys.exit(0)
os.waitpid(pid, 0)
run.log({"loss": 3}, step=1)
"""
        child = python(script)
        _, err = child.communicate()
        assert (child.returncode, err) == (0, "")
        assert [point.value for point in own_points(tmp_path)] == [1.0, 3.0]
        assert read_run(the_run(tmp_path)).state == "finished"

    def test_a_full_disk_costs_one_warning_and_nothing_once_there_is_room(self, python: Python, tmp_path: Path) -> None:
        script = """
import resource, time
from danlu import track
run = track.start("full")
resource.setrlimit(resource.RLIMIT_FSIZE, (20_001, resource.RLIM_INFINITY))
for step in range(2000):
    run.log({"loss": 1}, step=step)
    if step % 100 == 0:
        run.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
run.log({"loss": 1}, step=2000)
run.finish()
"""
        child = python(script)
        _, err = child.communicate()
        assert (child.returncode, err.count("\n")) == (0, 1)
        assert "cannot be written: File too large; keeping it in memory, training goes on" in err
        assert [point.step for point in own_points(tmp_path)] == list(range(2001))

    @pytest.mark.parametrize("then", ["goes on", "ends"])
    def test_a_run_begins_and_ends_without_room_and_is_whole_once_there_is_some(
        self, python: Python, tmp_path: Path, then: str
    ) -> None:
        script = """
import glob, os, resource, sys
from danlu import track
def room(num_bytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, resource.RLIM_INFINITY))
room(0)
run = track.start("full")
for step in range(10):
    run.log({"loss": 1}, step=step, flush=True)
room(resource.RLIM_INFINITY)
while len(glob.glob(run.path + "/*.journal")) < 2:
    pass  # its own, and that of the companion, who could not begin earlier
(own,) = [path for path in glob.glob(run.path + "/*.journal") if os.path.samefile(path, run._writer.path)]
size = os.path.getsize(own)
room(size + 1)
for step in range(10, 20):
    run.log({"loss": 1}, step=step)
run.finish()
room(resource.RLIM_INFINITY)
if sys.argv[1] == "goes on":
    while b"finished" not in open(own, "rb").read():
        pass
    os._exit(0)
"""
        child = python(script, then)
        _, err = child.communicate()
        assert (child.returncode, err.count("\n")) == (0, 1), err
        assert [point.step for point in own_points(tmp_path)] == list(range(20))
        assert read_run(the_run(tmp_path)).state == "finished"

    def test_what_is_lost_at_the_end_is_told(self, python: Python, tmp_path: Path) -> None:
        script = """
import resource
from danlu import track
run = track.start("full")
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
run.log({"loss": 1}, step=1)
"""
        _, err = python(script).communicate()
        assert "bytes could not be written to" in err
        assert own_points(tmp_path) == []

    def test_warnings_as_errors_do_not_end_training(self, python: Python, tmp_path: Path) -> None:
        script = "import warnings\nwarnings.simplefilter('error')\nfrom danlu import track\nrun = track.start('x')\n"
        child = python(script + "run.log({'a': 'text'}, step=1)\nrun.log('train', 5, step=2)\nprint('done')\n")
        out, _ = child.communicate()
        assert (child.returncode, out) == (0, "done\n")

    def test_streams_stay_what_they_are(self, python: Python) -> None:
        script = """
import sys
from danlu import track
before = sys.stdout
with track.start("streams"):
    assert sys.stdout is before and sys.stdout.fileno() == 1 and "write" in vars(sys.stdout)
    print("inside", file=sys.stderr)
assert "write" not in vars(sys.stdout)
"""
        child = python(script)
        _, err = child.communicate()
        assert (child.returncode, err) == (0, "inside\n")

    def test_a_users_module_of_any_name_is_not_in_the_companions_way(self, python: Python, tmp_path: Path) -> None:
        for name in ("queue", "http", "journal", "json"):
            (tmp_path / f"{name}.py").write_text("raise RuntimeError('mine')\n")
        script = "import sys\nsys.path = [p for p in sys.path if p != sys.path[0]]\n"
        child = python(script + "from danlu import track\nrun = track.start('x')\nimport time\ntime.sleep(3600)\n")
        try:
            _wait_for_companion(tmp_path, not_pid=0)
            wait_until(lambda: len(open_journals(the_run(tmp_path))) == 2)
        finally:
            child.kill()
            child.communicate()


@pytest.mark.parametrize("url", ["https://u:token@git.example.org/a.git", "https://git.example.org/a.git"])
def test_no_password_of_a_remote_is_kept(url: str) -> None:
    from danlu.track.capture import without_password

    assert without_password(url) == "https://git.example.org/a.git"


def test_gpus_are_read_from_nvidia_smi(tmp_path: Path) -> None:
    from danlu.track.machine_usage import gpus

    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho '0, 97, 1024'\necho '1, [N/A], 12'\necho '2, 0, 1'\n")
    program.chmod(0o755)
    assert gpus(str(program)) == {
        "gpu0_percent": 97.0,
        "gpu0_memory_bytes": 1024.0 * 2**20,
        "gpu2_percent": 0.0,
        "gpu2_memory_bytes": 1.0 * 2**20,
    }
    program.write_text("#!/bin/sh\nexit 9\n")
    assert gpus(str(program)) == {}
