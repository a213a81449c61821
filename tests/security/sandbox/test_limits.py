"""Jobs that take more than their share: of processes, of the disk, of the log. Each is ended, and told why."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from pathlib import Path

import pytest

from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.node.measure.disk import LEAST_BYTES, MAX_DEPTH, Measure, TooDeep
from danlu.node.probe import memory_bytes
from danlu.node.supervise.stager_process import MAX_MEMORY_BYTES
from danlu.node.task import read_task
from danlu.spec.reasons import CATALOGUE
from danlu.spec.states import TaskState
from danlu.testing.engines import Starter
from danlu.testing.waiting import wait_until

MIB = 1 << 20
CAP_SYS_RESOURCE = 24
"""Without it, root's choice of who is ended first can be taken back. Containers often lack it."""

FORK_BOMB = """
import os, time
children = 0
try:
    while children < 5000:
        if os.fork() == 0:
            time.sleep(3600)
        children += 1
except OSError as error:
    print('refused after', children, error.strerror, flush=True)
    raise SystemExit(7)
print('no limit')
"""
NEST = """
import os, sys
os.chdir(sys.argv[1])
for _ in range(3000):
    os.mkdir('d')
    os.chdir('d')
with open('hidden', 'wb') as file:
    file.write(bytes(1 << 20))
print('nested', flush=True)
"""


def _has_capability(number: int) -> bool:
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff"))
    return bool(int(line.split()[1], 16) >> number & 1)


def _stagers(folder: str) -> list[Path]:
    """Folders in /proc of the stagers of a task's folder, in which they work."""
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if path.read_text().strip() == "danlu-stager" and os.readlink(path.parent / "cwd") == folder:
                found.append(path.parent)
    return found


def limited(settings: EngineSettings, starter: Starter, **limits: object) -> Starter:
    starter.engine = LocalEngine(settings.model_copy(update=limits))
    return starter


class TestMemory:
    """A task that asks for no memory must not take the machine's, by itself or in files that are in memory."""

    @pytest.mark.parametrize(
        "take",
        [
            "head -c 256M /dev/zero > /dev/shm/x",
            "head -c 256M /dev/zero > /tmp/x",
            "python3 -c 'x = bytearray(b\"1\" * (256 << 20))'",
        ],
    )
    def test_who_takes_too_much_is_ended(self, settings: EngineSettings, starter: Starter, take: str) -> None:
        limited(settings, starter, max_memory_bytes=64 * MIB)
        if any("Memory limits" in told for told in starter.engine.nodes()[0].missing):
            pytest.skip("no control groups for memory here")
        (seen,) = starter.start(f"{take}; echo it had all of it; exit 7").wait()
        assert (seen.state, seen.reason) == (TaskState.FAILED, "out_of_memory")
        assert "more than its memory of 64 MiB" in seen.message

    def test_by_itself_it_is_a_share_of_the_machines(self, starter: Starter) -> None:
        job = starter.start("true")
        job.wait()
        task = read_task(str(Path(starter.engine.nodes()[0].work_dir, job.plan.job_id, "1", "0")))
        assert task.limits.memory_bytes == int(memory_bytes() * 0.9)

    def test_when_there_is_none_left_jobs_end_before_the_server(self, starter: Starter) -> None:
        job = starter.start(
            "cat /proc/self/oom_score_adj /proc/1/oom_score_adj; echo -1000 > /proc/self/oom_score_adj;"
            "echo 0 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj"
        )
        job.wait()
        found = [line for line in job.log().splitlines() if line.isdigit()]
        held = "500" if _has_capability(CAP_SYS_RESOURCE) else "0"
        assert found == ["500", "500", held], job.log()

    def test_the_stager_is_limited_too(self, starter: Starter) -> None:
        """It reads what the job wrote, such as a record of 256 MiB with a line for every three bytes."""
        job = starter.start("echo x > $DANLU_OUTPUT_DIR/x; while :; do sleep 0.1; done", output="store://results/x/")
        folder = str(Path(starter.engine.nodes()[0].work_dir, job.plan.job_id, "1", "0"))
        wait_until(lambda: _stagers(folder))
        (process,) = _stagers(folder)
        (line,) = (line for line in (process / "limits").read_text().splitlines() if line.startswith("Max data size"))
        assert line.split()[3:5] == [str(MAX_MEMORY_BYTES)] * 2
        assert (process / "oom_score_adj").read_text().strip() == "500"


class TestProcesses:
    def test_a_fork_bomb_stays_in_its_task(self, settings: EngineSettings, starter: Starter) -> None:
        limited(settings, starter, max_processes=64)
        other = starter.start("echo up; while :; do sleep 0.1; done")
        other.wait_for_log("up")
        job = starter.start(["python3", "-c", FORK_BOMB])
        (seen,) = job.wait()
        assert (seen.state, seen.exit_code) == (TaskState.FAILED, 7)
        assert job.log().startswith("refused after ")
        assert int(job.log().split()[2]) <= 64
        assert other.observe()[0].state is TaskState.RUNNING
        if "pids" in starter.engine._can.cgroups:  # type: ignore[attr-defined]
            assert (seen.reason, seen.message) == (
                "process_limit",
                "the task reached its limit of 64 processes and threads, and could not start another; "
                "the command ended with code 7",
            )
            assert "max_processes" in CATALOGUE["process_limit"].remedy

    def test_threads_count(self, settings: EngineSettings, starter: Starter) -> None:
        limited(settings, starter, max_processes=64)
        program = (
            "import threading, time\nfor n in range(500):\n"
            "    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        )
        job = starter.start(["python3", "-c", program])
        (seen,) = job.wait()
        assert seen.state is TaskState.FAILED
        assert "can't start new thread" in job.log()

    def test_without_control_groups_it_is_the_persons_limit(self, settings: EngineSettings, starter: Starter) -> None:
        limited(settings, starter, max_processes=64)
        engine = starter.engine
        assert isinstance(engine, LocalEngine)
        engine._can = dataclasses.replace(engine._can, cgroups={})
        job = starter.start(["python3", "-c", FORK_BOMB])
        (seen,) = job.wait()
        assert seen.exit_code == 7
        assert int(job.log().split()[2]) <= 64

    def test_the_limit_cannot_be_left_or_raised(self, settings: EngineSettings, starter: Starter) -> None:
        limited(settings, starter, max_processes=64)
        job = starter.start(
            "for file in $(find /sys/fs/cgroup -name cgroup.procs -o -name tasks -o -name pids.max "
            "-o -name 'memory*limit*' 2>/dev/null); do echo $$ > $file && echo wrote $file; done 2>/dev/null; "
            "mkdir /sys/fs/cgroup/pids/x /sys/fs/cgroup/x 2>/dev/null && echo made;"
            "mount -t cgroup -o pids none /tmp 2>/dev/null && echo mounted; echo to the end"
        )
        job.wait()
        assert job.log() == "to the end\n"


class TestDisk:
    @pytest.mark.parametrize("where", ["$DANLU_CODE_DIR", "~", "$DANLU_OUTPUT_DIR"])
    def test_who_fills_it_is_ended(self, settings: EngineSettings, starter: Starter, where: str) -> None:
        limited(settings, starter, max_disk_bytes=8 * MIB)
        job = starter.start(
            f"n=0; while :; do n=$((n+1)); head -c {MIB} /dev/zero > {where}/f$n || exit 9; sleep 0.02; done"
        )
        (seen,) = job.wait()
        assert (seen.state, seen.reason) == (TaskState.FAILED, "disk_limit")
        assert "MiB of disk space, and its limit is 8 MiB; write less" in seen.message
        assert "max_disk_bytes" in seen.message
        assert f"danlu: {seen.message}" in job.log()

    @pytest.mark.parametrize("where", ["~", "/data"])
    def test_folders_that_outlive_it_count(self, settings: EngineSettings, starter: Starter, where: str) -> None:
        """What was there before does not: a full home is no reason to end a job that adds nothing."""
        limited(settings, starter, max_disk_bytes=1 << 40)
        before = starter.start(f"head -c {30 * MIB} /dev/zero > {where}/before", contract="apulis")
        assert before.wait()[0].state is TaskState.SUCCEEDED
        limited(settings, starter, max_disk_bytes=8 * MIB)
        looks = starter.start("sleep 4", contract="apulis")
        assert looks.wait()[0].state is TaskState.SUCCEEDED
        job = starter.start(
            f"sleep 3; for n in $(seq 1 400); do head -c {MIB // 2} /dev/zero > {where}/f$n; sleep 0.1; done",
            contract="apulis",
        )
        (seen,) = job.wait()
        assert seen.reason == "disk_limit"

    def test_one_file_that_grows_without_end(self, settings: EngineSettings, starter: Starter) -> None:
        limited(settings, starter, max_disk_bytes=8 * MIB)
        job = starter.start("exec cat /dev/zero > big")
        (seen,) = job.wait()
        assert (seen.state, seen.reason) == (TaskState.FAILED, "disk_limit")
        assert "a file reached the disk limit of the task (max_disk_bytes: 8388608)" in seen.message

    def test_a_log_that_grows_without_end(self, settings: EngineSettings, starter: Starter) -> None:
        limited(settings, starter, max_disk_bytes=8 * MIB)
        job = starter.start("cat /dev/zero; exit 5")
        (seen,) = job.wait()
        assert (seen.reason, seen.log_bytes) == ("disk_limit", 8 * MIB)
        assert seen.message.startswith("the log reached the disk limit")

    def test_files_without_a_name_count(self, settings: EngineSettings, starter: Starter) -> None:
        limited(settings, starter, max_disk_bytes=8 * MIB)
        program = (
            "import tempfile, time\nheld = []\nfor n in range(12):\n    held.append(tempfile.TemporaryFile(dir='.'))\n"
            f"    held[-1].write(bytes({MIB})); held[-1].flush()\nprint('written', flush=True)\ntime.sleep(3600)\n"
        )
        job = starter.start(["python3", "-c", program])
        (seen,) = job.wait()
        assert seen.reason == "disk_limit", job.log()

    def test_nothing_is_hidden_by_depth_and_it_can_be_removed(
        self, settings: EngineSettings, starter: Starter, engine: LocalEngine
    ) -> None:
        limited(settings, starter, max_disk_bytes=MIB // 2)
        job = starter.start(f"cat > nest.py <<'EOF'\n{NEST}\nEOF\npython3 nest.py . ; sleep 3600")
        (seen,) = job.wait()
        assert (seen.reason, seen.message) == (
            "disk_limit",
            f"the disk usage of the task cannot be measured: folders are nested deeper than {MAX_DEPTH} levels",
        )
        gang = Path(engine.nodes()[0].work_dir, job.plan.job_id)
        assert gang.exists()
        engine.forget(job.plan.job_id, 1)
        assert not gang.exists()
        trash = gang.parent / ".trash"
        wait_until(lambda: not any(trash.iterdir()), lambda: os.listdir(trash))

    def test_a_deep_output_folder_does_not_take_the_shim_down(self, starter: Starter) -> None:
        job = starter.start(f"cat > nest.py <<'EOF'\n{NEST}\nEOF\npython3 nest.py $DANLU_OUTPUT_DIR; sleep 5; exit 4")
        (seen,) = job.wait()
        assert seen.exit_code == 4
        assert seen.state is TaskState.FAILED

    def test_who_has_written_little_is_left_alone(self, settings: EngineSettings, starter: Starter) -> None:
        limited(settings, starter, max_disk_bytes=8 * MIB)
        job = starter.start("for n in $(seq 1 30); do head -c 4000000 /dev/zero > same; done; sleep 3; echo done")
        assert job.wait()[0].state is TaskState.SUCCEEDED
        assert job.log() == "done\n"

    def test_by_itself_it_is_a_share_of_what_is_free(self, starter: Starter) -> None:
        job = starter.start("ulimit -f")
        job.wait()
        free = os.statvfs(starter.engine.nodes()[0].work_dir)
        limit = int(job.log()) * 1024
        assert 0.5 < limit / (free.f_bavail * free.f_frsize) < 0.95


class TestMeasure:
    def test_what_counts(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_bytes(b"x" * 100_000)
        os.link(tmp_path / "data", tmp_path / "again")
        with open(tmp_path / "sparse", "wb") as file:
            file.truncate(1 << 40)
        for number in range(100):
            (tmp_path / f"empty{number}").touch()
        (tmp_path / "link").symlink_to("/usr")
        measured = Measure(None).folder(str(tmp_path))
        assert 100_000 + 101 * LEAST_BYTES <= measured < 100_000 + 130 * LEAST_BYTES + 8192

    def test_files_of_others_do_not(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_bytes(b"x" * 100_000)
        assert Measure(os.getuid() + 1).folder(str(tmp_path)) == 0
        assert Measure(os.getuid()).folder(str(tmp_path)) >= 100_000

    def test_a_link_is_no_folder(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to("/usr")
        assert Measure(None).folder(str(tmp_path / "link")) == 0

    def test_too_deep_is_told(self, tmp_path: Path) -> None:
        deep = tmp_path.joinpath(*"d" * (MAX_DEPTH + 1))
        deep.mkdir(parents=True)
        with pytest.raises(TooDeep):
            Measure(None).folder(str(tmp_path))
