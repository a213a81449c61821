"""The local engine when things go wrong: real processes, real signals, a real full disk."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.base import Credentials
from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.errors import DanluError, InvalidSpec, StorageFull, Unsupported, WrongState
from danlu.spec.states import TaskState
from danlu.testing.engines import Started, Starter
from danlu.testing.store_server import StoreServer
from danlu.testing.waiting import HANG_SECONDS, wait_until


def processes_with(marker: str) -> list[str]:
    """Command lines on the whole machine that hold the marker."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            line = Path("/proc", name, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if marker in line:
            found.append(line)
    return found


def shim_pid(engine: LocalEngine, job: Started, rank: int = 0) -> int:
    folder = Path(engine.nodes()[0].work_dir, job.plan.job_id, "1", str(rank))
    return int(json.loads((folder / "status.json").read_text())["pid"])


class TestShimKilled:
    def test_the_task_is_lost_and_nothing_stays_behind(self, starter: Starter, engine: LocalEngine) -> None:
        job = starter.start("setsid sleep 987.125 & sleep 987.125 & echo ready; wait")
        job.wait_for_log("ready")
        assert processes_with("987.125")
        os.kill(shim_pid(engine, job), signal.SIGKILL)
        (seen,) = job.wait()
        assert (seen.state, seen.reason) == (TaskState.LOST, "lost")
        assert "killed" in seen.message
        wait_until(lambda: not processes_with("987.125"), lambda: processes_with("987.125"))

    def test_a_restarted_machine_is_named(self, starter: Starter, engine: LocalEngine) -> None:
        job = starter.start("echo ready; sleep 3600")
        job.wait_for_log("ready")
        os.kill(shim_pid(engine, job), signal.SIGKILL)
        job.wait(TaskState.LOST)
        record = Path(engine.nodes()[0].work_dir, job.plan.job_id, "1", "0", "status.json")
        record.write_text(json.dumps({**json.loads(record.read_text()), "boot_id": "another"}))
        assert "restarted" in job.observe()[0].message


class TestStop:
    def test_everything_is_gone_after_the_grace(self, starter: Starter) -> None:
        job = starter.start(
            "trap '' TERM HUP; (trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 876.25; :') & "
            "(setsid setsid sleep 876.25 &) ; echo ready; while :; do sleep 0.1; done"
        )
        job.wait_for_log("ready")
        wait_until(lambda: len(processes_with("876.25")) >= 2)
        (seen,) = job.stop(grace_seconds=0.5)
        assert (seen.state, seen.exit_code) == (TaskState.STOPPED, 137)
        assert processes_with("876.25") == []

    def test_a_checkpoint_below_a_shell_is_written(self, starter: Starter, store: StoreServer) -> None:
        """`sh start.sh` dies of SIGTERM at once; the Python below it needs its time."""
        digest = store.add_tree(
            {
                "start.sh": b"python3 train.py\n",
                "train.py": b"import os, signal, sys, time\n"
                b"def save(*_):\n"
                b"    time.sleep(0.7)\n"
                b"    open(os.environ['DANLU_OUTPUT_DIR'] + '/ckpt', 'w').write('saved')\n"
                b"    sys.exit(0)\n"
                b"signal.signal(signal.SIGTERM, save)\n"
                b"print('ready', flush=True)\n"
                b"time.sleep(3600)\n",
            }
        )
        job = starter.start("sh start.sh; true", code={"tree": digest})
        job.wait_for_log("ready")
        (seen,) = job.stop(grace_seconds=HANG_SECONDS)
        assert seen.state is TaskState.STOPPED
        assert [content for name, content in store.objects.items() if name.endswith("/ckpt")] == [b"saved"]

    def test_what_a_command_leaves_behind_is_ended(self, starter: Starter) -> None:
        job = starter.start("setsid sleep 765.5 & sleep 765.5 & echo left")
        (seen,) = job.wait()
        assert (seen.state, seen.exit_code) == (TaskState.SUCCEEDED, 0)
        assert processes_with("765.5") == []

    def test_while_inputs_are_fetched(self, starter: Starter, store: StoreServer) -> None:
        store.go()
        job = starter.start("echo never", data={"store://data/x": "x"})
        job.wait(TaskState.STAGING)
        (seen,) = job.stop(grace_seconds=HANG_SECONDS)
        assert (seen.state, seen.exit_code, job.log()) == (TaskState.STOPPED, None, "")
        store.come()

    def test_sigterm_to_the_shim_ends_the_task_in_order(self, starter: Starter, engine: LocalEngine) -> None:
        job = starter.start("trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
        job.wait_for_log("ready")
        os.kill(shim_pid(engine, job), signal.SIGTERM)
        (seen,) = job.wait()
        assert (seen.state, seen.reason, seen.exit_code) == (TaskState.FAILED, "stopped_outside", 0)
        assert "saved" in job.log()


class TestLog:
    def test_fifty_megabytes_arrive_byte_for_byte(self, starter: Starter) -> None:
        program = (
            "import sys\n"
            "block = bytes(range(256)) * 4096\n"
            "for number in range(50):\n"
            "    sys.stdout.buffer.write(block); sys.stdout.buffer.flush()\n"
        )
        job = starter.start(["python3", "-c", program])
        (seen,) = job.wait()
        digest = hashlib.sha256()
        for _ in range(50):
            digest.update(bytes(range(256)) * 4096)
        assert seen.log_bytes == 50 << 20
        assert hashlib.sha256(job.log_bytes()).hexdigest() == digest.hexdigest()

    def test_standard_output_can_be_opened_by_name(self, starter: Starter) -> None:
        job = starter.start("echo one > /dev/stdout; echo two >> /dev/stderr")
        job.wait()
        assert job.log() == "one\ntwo\n"


class TestStart:
    def test_a_gang_starts_whole_or_not_at_all(self, starter: Starter, engine: LocalEngine) -> None:
        plan = starter.plan("echo up; sleep 654.5", nodes=3)
        work = Path(engine.nodes()[0].work_dir, plan.job_id, "1")
        work.mkdir(parents=True)
        (work / "2").write_text("in the way of the third task")
        with pytest.raises(DanluError, match=plan.job_id):
            engine.start(plan, Credentials("http://127.0.0.1:9", "t"))
        assert processes_with("654.5") == []
        assert not (work / "0").exists()

    def test_an_interrupted_start_is_completed(self, starter: Starter, engine: LocalEngine) -> None:
        job = starter.start("echo up; sleep 3600", nodes=2)
        job.wait_for_log("up", rank=1)
        lost = Path(engine.nodes()[0].work_dir, job.plan.job_id, "1", "1")
        engine.stop(job.handles[1:], 0.0)
        wait_until(lambda: job.observe()[1].state is TaskState.STOPPED)
        for child in ("status.json", "exit.json", "log"):
            (lost / child).unlink()
        fresh = Started(engine, job.plan, engine.start(job.plan, Credentials("http://127.0.0.1:9", "t")))
        assert fresh.handles == job.handles
        seen = LocalEngine(engine.settings).poll(job.handles)[1]
        assert seen is not None
        assert seen.state in (TaskState.STARTING, TaskState.RUNNING)

    def test_a_running_attempt_cannot_be_forgotten(self, starter: Starter, engine: LocalEngine) -> None:
        job = starter.start("sleep 3600")
        with pytest.raises(WrongState, match="still runs"):
            engine.forget(job.plan.job_id, 1)

    @pytest.mark.parametrize("kind", ["plain"], indirect=True)
    def test_without_a_sandbox_inputs_stay_in_the_folder(self, starter: Starter, engine: LocalEngine) -> None:
        plan = starter.plan("true", data={"store://data/x": "/data/x"})
        with pytest.raises(InvalidSpec, match="no sandbox"):
            starter.start_plan(plan)

    @pytest.mark.parametrize("kind", ["plain"], indirect=True)
    def test_without_a_sandbox_the_root_must_be_the_tasks_own(self, starter: Starter) -> None:
        plan = starter.plan("true")
        task = plan.tasks[0].model_copy(update={"root": "/opt/ml"})
        with pytest.raises(Unsupported, match="/opt/ml"):
            starter.start_plan(plan.model_copy(update={"tasks": (task,)}))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
class TestDiskFull:
    @pytest.fixture
    def small_disk(self, tmp_path: Path) -> Iterator[Path]:
        disk = tmp_path / "small"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=755", "none", str(disk)], check=True)
        yield disk
        subprocess.run(["umount", "-l", str(disk)], check=True)

    @pytest.fixture
    def settings(self, small_disk: Path, kind: str) -> EngineSettings:
        no_limit = 1 << 40  # by itself a task is ended before the disk is full
        return EngineSettings(
            work_dir=small_disk / "work", server_id="test", sandbox=kind == "sandbox", max_disk_bytes=no_limit
        )

    def test_a_log_that_fills_the_disk_ends_with_that_reason(self, starter: Starter) -> None:
        job = starter.start("head -c 10000000 /dev/zero; exit 1")
        (seen,) = job.wait()
        assert (seen.state, seen.exit_code, seen.reason) == (TaskState.FAILED, 1, "disk_full")
        assert job.plan.job_id in seen.message
        assert len(job.log_bytes()) == seen.log_bytes

    def test_the_record_is_kept_when_the_folder_is_full(self, starter: Starter) -> None:
        job = starter.start('cat /dev/zero > "$DANLU_CODE_DIR/big"; sleep 1.2; exit 4')
        (seen,) = job.wait()
        assert (seen.state, seen.exit_code, seen.reason) == (TaskState.FAILED, 4, "disk_full")

    def test_a_start_without_room_is_refused(self, starter: Starter, small_disk: Path) -> None:
        with open(small_disk / "ballast", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(65536))
            except OSError:
                pass
        with pytest.raises(StorageFull, match=r"room|space"):
            starter.start("true")
        (small_disk / "ballast").unlink()
        assert starter.start("true").wait()[0].state is TaskState.SUCCEEDED


class TestMemory:
    def test_more_than_asked_for_is_told(self, starter: Starter, engine: LocalEngine) -> None:
        if any("Memory" in sentence for sentence in engine.nodes()[0].missing):
            pytest.skip("no control groups here")
        job = starter.start(["python3", "-c", "x = bytearray(300 << 20); print(len(x))"], resources={"memory": "100MB"})
        (seen,) = job.wait()
        assert (seen.state, seen.exit_code, seen.reason) == (TaskState.FAILED, 137, "out_of_memory")
        assert "95 MiB" in seen.message

    def test_a_limit_that_cannot_be_set_is_in_the_log(self, starter: Starter, engine: LocalEngine) -> None:
        engine._can = dataclasses.replace(engine._can, cgroups={"memory": "/dev/null/danlu-"})
        job = starter.start("echo fine", resources={"memory": "1GiB"})
        (seen,) = job.wait()
        assert seen.state is TaskState.SUCCEEDED
        assert job.log().startswith("danlu: the memory of this task is not limited to 1024 MiB: ")
        assert job.log().endswith("fine\n")
