"""What root does in folders that a job, or its owner, can write to: links, pipes and device files in its way."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from danlu.engines.base import Credentials
from danlu.engines.local import LocalEngine
from danlu.engines.local.folders import TaskFolder
from danlu.engines.local.prepare import prepare_task
from danlu.engines.settings import EngineSettings
from danlu.node.supervise.stager_process import has_files
from danlu.node.task import Gang
from danlu.spec.states import TaskState
from danlu.testing.engines import Starter
from danlu.testing.store_server import StoreServer
from danlu.testing.waiting import wait_until

CONFIG = "/opt/ml/input/config"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder of the machine with a file that only root may read."""
    path = tmp_path / "only-root"
    path.mkdir(mode=0o755)
    (path / "secret").write_text("of the machine")
    (path / "secret").chmod(0o600)
    return path


def task_folder(engine: LocalEngine, job_id: str) -> Path:
    return Path(engine.nodes()[0].work_dir, job_id, "1", "0")


class TestStopFile:
    """The shim writes it, as root, into a folder of the job."""

    @pytest.mark.parametrize(
        "lay",
        [
            "ln -s {victim}/made {config}/stop",
            "ln -s {victim}/secret {config}/stop",
            "mkfifo {config}/stop",
            "mv {config} {config}2; ln -s {victim} {config}",
            "mv /opt/ml/input /opt/ml/input2; ln -s {victim} /opt/ml/input",
            "rm -r {config}",
            "mkdir {config}/stop",
        ],
    )
    def test_nothing_leads_it_elsewhere(self, starter: Starter, engine: LocalEngine, victim: Path, lay: str) -> None:
        job = starter.start(f"{lay.format(victim=victim, config=CONFIG)}; echo laid; sleep 100")
        job.wait_for_log("laid")
        (seen,) = job.stop(grace_seconds=1.0)
        assert seen.state is TaskState.STOPPED
        assert sorted(path.name for path in victim.iterdir()) == ["secret"]
        assert (victim / "secret").read_text() == "of the machine"


class TestLogCopy:
    """The shim writes it into a home, as root or with its owner's rights."""

    @pytest.mark.parametrize(
        "lay",
        [
            "rm -rf ~/jobs; ln -s {victim} ~/jobs",
            "mkdir -p ~/jobs; ln -s {victim} ~/jobs/{job}",
            "mkdir -p ~/jobs/{job}/logs; ln -s {victim}/secret ~/jobs/{job}/logs/joblog-1-0.txt",
            "mkdir -p ~/jobs/{job}/logs; mkfifo ~/jobs/{job}/logs/joblog-1-0.txt",
            "mkdir -p ~/jobs/{job}/logs; echo mine > ~/mine; ln ~/mine ~/jobs/{job}/logs/joblog-1-0.txt",
        ],
    )
    def test_nothing_leads_it_elsewhere(
        self, starter: Starter, settings: EngineSettings, victim: Path, lay: str
    ) -> None:
        plan = starter.plan("echo log of the job", contract="apulis")
        before = starter.start(lay.format(victim=victim, job=plan.job_id), contract="apulis")
        assert before.wait()[0].state is TaskState.SUCCEEDED, before.log()
        job = starter.start_plan(plan)
        assert job.wait()[0].state is TaskState.SUCCEEDED
        assert "the log is not copied" in job.log()
        assert sorted(path.name for path in victim.iterdir()) == ["secret"]
        assert (victim / "secret").read_text() == "of the machine"
        mine = settings.kept["home"] / "mallory" / "mine"
        assert not mine.exists() or mine.read_text() == "mine\n"

    def test_somebody_elses_home_is_closed(self, starter: Starter, settings: EngineSettings) -> None:
        own = starter.start("echo secret > ~/secret; chmod 644 ~/secret", contract="apulis")
        own.wait()
        home = settings.kept["home"] / "mallory"
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        starter.owner_id, starter.owner = 67, starter.owner._replace(user="eve")
        job = starter.start(f"cat /home/mallory/secret {home}/secret; ls {home.parent} /home", contract="apulis")
        job.wait()
        assert "secret\n" not in job.log().replace(f"{home}/secret", "").replace("/home/mallory/secret", "")


class TestOracles:
    """A link of the job must not tell it what root finds behind it."""

    @pytest.mark.parametrize("exists", [True, False])
    def test_a_gate_is_no_link(self, starter: Starter, victim: Path, exists: bool) -> None:
        aim = victim / ("secret" if exists else "none")
        job = starter.start("exit 3", setup=f"ln -sfn {aim} {CONFIG}/.setup-done; exit 3")
        assert job.wait()[0].reason == "setup_failed"

    def test_an_output_folder_is_no_link(self, tmp_path: Path, victim: Path) -> None:
        empty = tmp_path / "empty"
        empty.mkdir()
        task = tmp_path / "task"
        task.mkdir()
        answers = []
        for aim in (victim, empty, tmp_path / "none"):
            (task / "output").symlink_to(aim)
            answers.append(has_files(str(task), str(task / "output")))
            (task / "output").unlink()
        assert len(set(answers)) == 1, "whatever is behind it, the answer is the same"

    def test_what_has_files(self, tmp_path: Path) -> None:
        assert not has_files(str(tmp_path), str(tmp_path / "none"))
        (tmp_path / "out" / "a" / "b").mkdir(parents=True)
        assert not has_files(str(tmp_path), str(tmp_path / "out"))
        (tmp_path / "out" / "a" / "b" / "c").touch()
        assert has_files(str(tmp_path), str(tmp_path / "out"))

    def test_many_folders_do_not_keep_the_shim_busy(self, tmp_path: Path) -> None:
        for number in range(1000):
            (tmp_path / "out" / str(number)).mkdir(parents=True)
        before = len(os.listdir("/proc/self/fd"))
        assert has_files(str(tmp_path), str(tmp_path / "out")), "the stager finds out that there is nothing"
        assert len(os.listdir("/proc/self/fd")) == before


class TestUpload:
    def test_no_link_and_no_device_is_sent(self, starter: Starter, store: StoreServer, victim: Path) -> None:
        job = starter.start(
            f"cd $DANLU_OUTPUT_DIR; ln -s {victim}/secret a; ln -s {victim} b; ln -s /proc/1/environ c; mkfifo d;"
            "ln -s /dev/zero e; mkdir f; ln -s /etc f/g; echo mine > h; ln -s h i; mv $DANLU_MODEL_DIR /opt/ml/m;"
            f"ln -s {victim} $DANLU_MODEL_DIR"
        )
        job.wait()
        sent = {key.rpartition("/")[2]: data for key, data in store.objects.items() if job.plan.job_id in key}
        assert sent == {"h": b"mine\n"}


class TestInputs:
    def test_an_input_that_became_a_link_is_not_bound(
        self, starter: Starter, engine: LocalEngine, settings: EngineSettings, victim: Path
    ) -> None:
        """Nothing of ours makes such a link; if something did, root would bind what it leads to, writable."""
        plan = starter.plan(
            "ls -la /data/x; cat /data/x/secret; touch /data/x/made", data={"store://d00/x/": "/data/x"}
        )
        task = plan.tasks[0]
        folder = TaskFolder(task_folder(engine, plan.job_id))
        plan = plan.model_copy(update={"tasks": (task.model_copy(update={"inputs": task.inputs[:1]}),)})
        folder.path.parent.mkdir(parents=True)
        credentials = Credentials(starter.server_url, starter.token, owner_id=66)
        prepare_task(plan, task, folder=folder, credentials=credentials, settings=settings, can=engine._can)
        (folder.mounts / "0").symlink_to(victim)
        described = json.loads((folder.path / "task.json").read_text())
        (folder.path / "task.json").write_text(json.dumps({**described, "inputs": []}))
        lock = os.open(folder.path.parent / "start.lock", os.O_CREAT | os.O_RDWR)
        engine._start_shims(Gang((str(folder.path),), {}, (), ""), lock=lock)
        os.close(lock)
        wait_until((folder.path / "exit.json").exists)
        ended = json.loads((folder.path / "exit.json").read_text())
        assert (ended["state"], ended["reason"]) == ("failed", "start_failed")
        assert "expected a folder or a file" in ended["message"]
        assert [path.name for path in victim.iterdir()] == ["secret"]

    def test_a_folder_that_an_interrupted_start_left_is_not_written_into(
        self, starter: Starter, engine: LocalEngine, victim: Path
    ) -> None:
        plan = starter.plan("cat $DANLU_HYPERPARAMETERS; echo ran")
        left = task_folder(engine, plan.job_id)
        (left / "ml" / "input").mkdir(parents=True)
        (left / "ml" / "input" / "config").symlink_to(victim)
        (left / "home").symlink_to(victim)
        (left / "log").symlink_to(victim / "log")
        job = starter.start_plan(plan)
        assert job.wait()[0].state is TaskState.SUCCEEDED, job.log()
        assert job.log().endswith("ran\n")
        assert [path.name for path in victim.iterdir()] == ["secret"]


class TestDevices:
    def test_none_can_be_made_or_reached(self, starter: Starter) -> None:
        log_of = starter.start(
            "for at in ~ /tmp /dev /dev/shm /opt/ml; do mknod $at/disk b 8 0; mknod $at/zero c 1 5; done;"
            "ls -la ~ /tmp /dev/shm /opt/ml | grep -c '^[bc]'; ls /dev"
        )
        log_of.wait()
        lines = [line for line in log_of.log().splitlines() if not line.startswith("mknod")]
        count, *devices = lines
        assert count == "0"
        allowed = {
            *["console", "core", "fd", "full", "null", "ptmx", "pts", "random"],
            *["shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"],
        }
        assert set(devices) <= set(allowed)


class TestProc:
    def test_its_tricks_lead_nowhere(self, starter: Starter) -> None:
        job = starter.start(
            "for path in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/vm/drop_caches "
            "/proc/sysrq-trigger /proc/self/oom_score_adj_ /proc/irq/default_smp_affinity /sys/kernel/uevent_helper "
            "/sys/power/state /sys/module/kernel/parameters/panic; do echo 1 > $path && echo wrote $path; done;"
            "for path in /proc/kcore /proc/kmsg /proc/kallsyms_ /proc/1/root/etc/shadow /proc/self/root/etc/shadow "
            "/proc/1/cwd/etc/shadow /proc/2/root /etc/shadow /proc/self/fd/1/../../../secret; do "
            "head -c1 $path && echo read $path; done; nsenter -t 1 -m true && echo entered; echo to the end"
        )
        job.wait()
        assert [line for line in job.log().splitlines() if line.startswith(("wrote", "read", "entered"))] == []
        assert job.log().endswith("to the end\n")

    def test_mounts_of_the_machine_are_not_told(self, starter: Starter, engine: LocalEngine) -> None:
        """The folder of the task is named there, as for every container; other jobs and the database are not."""
        other = starter.start("echo up; sleep 60")
        other.wait_for_log("up")
        job = starter.start("cat /proc/self/mountinfo /proc/self/mounts")
        job.wait()
        assert other.plan.job_id not in job.log()
        assert "oldroot" not in job.log()
