"""What a job can reach from inside its sandbox, tried from inside real jobs."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from danlu.engines.local import LocalEngine
from danlu.spec.states import TaskState
from danlu.testing.engines import Starter

pytestmark = pytest.mark.parametrize("kind", ["sandbox"], indirect=True)


def run(starter: Starter, command: str, **fields: object) -> str:
    job = starter.start(command, **fields)
    job.wait()
    return job.log()


class TestFiles:
    def test_the_database_and_other_jobs_are_not_there(
        self, starter: Starter, engine: LocalEngine, tmp_path: Path
    ) -> None:
        other = starter.start('echo private > "$DANLU_OUTPUT_DIR/x"; echo ready; sleep 60')
        other.wait_for_log("ready")
        theirs = f"{engine.nodes()[0].work_dir}/{other.plan.job_id}/1/0/ml/output/x"
        assert Path(theirs).exists()
        log = run(starter, f"cat {tmp_path}/secret/danlu.db {theirs}; ls -A {tmp_path} {engine.nodes()[0].work_dir}")
        assert "the database" not in log
        assert "private" not in log
        assert other.plan.job_id not in log.replace(theirs, "")

    def test_what_is_hidden_outside_of_tmp_is_hidden_too(self, starter: Starter) -> None:
        """The folders of these tests lie below /tmp, which is hidden anyway; this one does not."""
        hidden = Path("/var/lib/danlu-test-hidden")
        if os.geteuid() != 0:
            pytest.skip("needs a folder outside of /tmp")
        hidden.mkdir(exist_ok=True)
        try:
            (hidden / "danlu.db").write_text("the database")
            settings = starter.engine.settings  # type: ignore[attr-defined]
            engine = LocalEngine(type(settings)(**{**settings.__dict__, "hide": (hidden,)}))
            log = run(Starter(engine), f"ls -la {hidden}; cat {hidden}/danlu.db")
        finally:
            (hidden / "danlu.db").unlink()
            hidden.rmdir()
        assert "the database" not in log
        assert "No such file" in log

    def test_homes_are_empty(self, starter: Starter) -> None:
        home = os.path.expanduser("~")
        log = run(
            starter,
            f"ls -A {home}/.ssh {home}/.danlu {home}/.bashrc; ls -A /root/.ssh; echo $HOME; touch ~/mine && ls ~",
        )
        assert log.count("No such file") == 4
        assert log.endswith("/home/danlu\nmine\n")

    def test_the_machine_cannot_be_changed(self, starter: Starter) -> None:
        log = run(
            starter,
            "for path in /etc /usr /usr/bin /var /opt / /sys /proc/sys/kernel; do"
            "  touch $path/danlu-was-here && echo wrote $path; done;"
            "echo 1 > /proc/sys/kernel/core_pattern && echo wrote core_pattern;"
            "echo b > /proc/sysrq-trigger && echo sysrq;"
            "mknod $DANLU_CODE_DIR/disk b 8 0 && echo made a device; mount -t tmpfs none /mnt && echo mounted; ls /dev",
        )
        for word in ("wrote", "sysrq\n", "made a device", "mounted", "vda", "sda", "kmsg"):
            assert word not in log.replace("sysrq-trigger", "")
        assert not Path("/etc/danlu-was-here").exists()

    def test_sockets_of_services_are_not_there(self, starter: Starter) -> None:
        assert run(starter, "ls -A /run") == "danlu\n"

    def test_temporary_folders_are_its_own(self, starter: Starter, tmp_path: Path) -> None:
        log = run(
            starter, "ls -A /tmp /var/tmp /dev/shm; touch /tmp/a /var/tmp/b /dev/shm/c && echo fine; echo $TMPDIR"
        )
        assert log.endswith("fine\n/tmp\n")
        assert not Path("/tmp/a").exists()

    def test_files_of_root_are_closed(self, starter: Starter, engine: LocalEngine) -> None:
        if os.geteuid() != 0:
            pytest.skip("the server is not root, so jobs have its own rights")
        log = run(
            starter,
            "cat /etc/shadow; id -u; id -un; sudo -n true; su -c id; grep -E 'CapEff|NoNewPrivs' /proc/self/status",
        )
        assert "Permission denied" in log
        assert "root:" not in log
        assert "\ndanlu\n" in log
        assert "CapEff:\t0000000000000000" in log
        assert "NoNewPrivs:\t1" in log

    def test_inputs_may_go_to_any_path(self, starter: Starter, store: object) -> None:
        store.objects.update({"data/a/one": b"1\n", "data/a/two": b"2\n", "data/f.bin": b"file\n"})  # type: ignore[attr-defined]
        log = run(
            starter,
            "cat /data/set/one /data/set/two /srv/deep/er/f.bin; ls /opt/ml",
            data={"store://data/a/": "/data/set", "store://data/f.bin": "/srv/deep/er/f.bin"},
        )
        assert log == "1\n2\nfile\ncode\ninput\nmodel\noutput\n"

    def test_the_python_of_the_server_is_found(self, starter: Starter) -> None:
        log = run(starter, "python3 -c 'import pydantic, danlu, sys; print(sys.prefix)'")
        import sys

        assert log == f"{sys.prefix}\n"


class TestProcesses:
    def test_only_its_own_are_there(self, starter: Starter) -> None:
        log = run(starter, "ls /proc | grep -c '^[0-9]'; kill -9 1 && echo killed; kill -9 -1; echo here")
        assert int(log.split()[0]) < 6
        assert not log.startswith("killed")

    def test_the_first_process_cannot_be_read_or_ended(self, starter: Starter) -> None:
        job = starter.start(
            "kill -9 1; kill -TERM 1; cat /proc/1/environ; ls /proc/1/fd; sleep 0.2; echo still here; exit 6"
        )
        (seen,) = job.wait()
        assert (seen.state, seen.exit_code) == (TaskState.FAILED, 6)
        assert "still here" in job.log()
        if os.geteuid() == 0:
            assert job.log().count("ermission denied") >= 2

    def test_job_settings_do_not_reach_processes_outside(self, starter: Starter, tmp_path: Path) -> None:
        """LD_PRELOAD of a job must not be loaded by the sandbox tool, which runs with the server's rights."""
        job = starter.start("true", env={"LD_PRELOAD": "/nonexistent/evil.so", "PYTHONSTARTUP": "/x", "PATH": "/bin"})
        (seen,) = job.wait()
        assert seen.state is TaskState.SUCCEEDED
        assert job.log().count("evil.so") <= 1


class TestNetwork:
    def test_two_gangs_use_the_same_port(self, starter: Starter, engine: LocalEngine) -> None:
        if not engine.nodes()[0].has_own_network:
            pytest.skip("no network of their own here")
        program = (
            "import os, socket, time\n"
            "if os.environ['DANLU_RANK'] == '0':\n"
            "    server = socket.create_server((os.environ['CHIEF_IP'], 23457))\n"
            "    print('listens', flush=True)\n"
            "    print(server.accept()[0].recv(100).decode()); time.sleep(0.5)\n"
            "else:\n"
            "    for _ in range(200):\n"
            "        try:\n"
            "            peer = socket.create_connection((os.environ['CHIEF_IP'], 23457)); break\n"
            "        except OSError: time.sleep(0.02)\n"
            "    peer.send(os.environ['DANLU_JOB_ID'].encode())\n"
        )
        jobs = [starter.start(["python3", "-c", program], nodes=2) for _ in range(2)]
        for job in jobs:
            assert [seen.state for seen in job.wait()] == [TaskState.SUCCEEDED] * 2
            assert job.log(0) == f"listens\n{job.plan.job_id}\n"

    def test_services_of_the_machine_are_out_of_reach(self, starter: Starter, engine: LocalEngine) -> None:
        if not engine.nodes()[0].has_own_network:
            pytest.skip("no network of their own here")
        with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
            abstract.bind("\0danlu-test-abstract")
            abstract.listen()
            program = (
                "import socket\n"
                f"for kind, where in ((socket.AF_INET, ('127.0.0.1', {server.getsockname()[1]})),"
                " (socket.AF_UNIX, '\\0danlu-test-abstract')):\n"
                "    try:\n"
                "        socket.socket(kind).connect(where); print('reached', where)\n"
                "    except OSError as error: print('no', error.errno)\n"
            )
            log = run(starter, f'python3 -c "{program}"')
        assert log.count("no ") == 2

    def test_tasks_know_each_other_by_name(self, starter: Starter, engine: LocalEngine) -> None:
        job = starter.start("hostname; getent hosts $(hostname | sed s/worker-./worker-1/)", nodes=2)
        job.wait()
        peer = f"{job.plan.job_id}-worker-1"
        assert job.log(0).splitlines()[0] == f"{job.plan.job_id}-worker-0"
        assert job.log(0).splitlines()[1].split() == [job.plan.tasks[1].address, peer]
