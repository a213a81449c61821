"""What a job can reach from inside its sandbox, tried from inside real jobs."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic
import pytest

from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.spec.states import TaskState
from danlu.testing.engines import Starter
from danlu.testing.store_server import StoreServer
from danlu.testing.waiting import wait_until

pytestmark = pytest.mark.parametrize("kind", ["sandbox"], indirect=True)


def run(starter: Starter, command: str, **fields: Any) -> str:
    job = starter.start(command, **fields)
    job.wait()
    return job.log()


class TestFiles:
    def test_the_database_and_other_jobs_are_not_there(
        self, starter: Starter, engine: LocalEngine, tmp_path: Path
    ) -> None:
        other = starter.start('echo private > "$DANLU_OUTPUT_DIR/x"; echo ready; sleep 3600')
        other.wait_for_log("ready")
        theirs = f"{engine.nodes()[0].work_dir}/{other.plan.job_id}/1/0/ml/output/x"
        assert Path(theirs).exists()
        log = run(starter, f"cat {tmp_path}/secret/danlu.db {theirs}; ls -A {tmp_path} {engine.nodes()[0].work_dir}")
        assert "the database" not in log
        assert "private" not in log
        assert other.plan.job_id not in log.replace(theirs, "")

    def test_packages_of_danlu_that_are_installed_editable_are_seen_where_nothing_else_is(
        self, settings: EngineSettings
    ) -> None:
        """As in the home of whoever develops them, which is hidden from jobs."""
        root = Path(__file__).parents[2]
        engine = LocalEngine(settings.model_copy(update={"hide": (root / "compat", root / "accel")}))
        imports = "import danlu.track, t9k.em, tiacc_training, danlu_accel; print('imported')"
        log = run(Starter(engine), f'python3 -c "{imports}"; ls {root}/compat')
        assert "imported" in log
        assert "README.md" not in log

    def test_what_is_hidden_outside_of_tmp_is_hidden_too(self, settings: EngineSettings) -> None:
        """The folders of these tests lie below /tmp, which is hidden anyway; this one does not."""
        hidden = Path("/var/lib/danlu-test-hidden")
        if os.geteuid() != 0:
            pytest.skip("making a folder outside of /tmp needs root")
        hidden.mkdir(exist_ok=True)
        try:
            (hidden / "danlu.db").write_text("the database")
            engine = LocalEngine(settings.model_copy(update={"hide": (hidden,)}))
            log = run(Starter(engine), f"ls -la {hidden}; cat {hidden}/danlu.db")
        finally:
            (hidden / "danlu.db").unlink()
            hidden.rmdir()
        assert "the database" not in log
        assert "No such file" in log

    def test_names_of_what_is_hidden_in_a_hidden_folder_are_not_told(self, settings: EngineSettings) -> None:
        """The folder is outside of /tmp, which is hidden anyway."""
        hidden = Path("/var/lib/danlu-test-outer")
        if os.geteuid() != 0:
            pytest.skip("making a folder outside of /tmp needs root")
        (hidden / "session").mkdir(parents=True, exist_ok=True)
        (hidden / "shown" / "key").mkdir(parents=True, exist_ok=True)
        hide = (hidden / "session", hidden, hidden / "shown" / "key")
        try:
            (hidden / "shown" / "key" / "x").write_text("the key")
            engine = LocalEngine(settings.model_copy(update={"hide": hide, "show": (hidden / "shown",)}))
            log = run(Starter(engine), f"find {hidden}; cat {hidden}/shown/key/x")
        finally:
            shutil.rmtree(hidden)
        assert log.splitlines()[:3] == [str(hidden), f"{hidden}/shown", f"{hidden}/shown/key"]
        assert "the key" not in log

    def test_homes_are_empty(self, starter: Starter) -> None:
        home = os.path.expanduser("~")
        log = run(
            starter,
            f"ls -A {home}/.ssh {home}/.danlu {home}/.bashrc; ls -A /root/.ssh; echo $HOME; touch ~/mine && ls ~",
        )
        assert log.count("No such file") == 4
        assert log.endswith("/home/danlu\nmine\n")

    @pytest.mark.parametrize("own_uid", [True, False])
    def test_the_machine_cannot_be_changed(self, settings: EngineSettings, own_uid: bool) -> None:
        """Not even by a job that is root. Every try here would be harmless if it came through."""
        starter = Starter(LocalEngine(settings.model_copy(update={"own_uid": own_uid})))
        log = run(
            starter,
            "for path in /etc /usr /usr/bin /var /opt / /sys /proc/sys/kernel; do"
            "  touch $path/danlu-was-here && echo wrote $path; done;"
            "for path in /proc/sys/kernel/core_pattern /proc/sys/vm/overcommit_memory; do"
            "  cat $path > /tmp/same; cat /tmp/same > $path && echo wrote $path; done;"
            "echo h > /proc/sysrq-trigger && echo wrote sysrq;"
            "mknod $DANLU_CODE_DIR/disk b 8 0 && echo made a device; mount -t tmpfs none /mnt && echo mounted;"
            "ls /dev; echo to the end",
        )
        for word in ("wrote", "made a device", "mounted", "vda", "sda", "kmsg"):
            assert word not in log
        assert log.endswith("to the end\n")

    def test_sockets_of_services_are_not_there(self, starter: Starter) -> None:
        assert run(starter, "ls -A /run") == ""

    def test_temporary_folders_are_its_own(self, starter: Starter, tmp_path: Path) -> None:
        name = f"danlu-{uuid.uuid4()}"
        made = [f"/tmp/{name}", f"/var/tmp/{name}", f"/dev/shm/{name}"]
        log = run(starter, f"ls -A /tmp /var/tmp /dev/shm; touch {' '.join(made)} && echo fine; echo $TMPDIR")
        assert log.endswith("fine\n/tmp\n")
        assert not any(Path(path).exists() for path in made)

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

    def test_inputs_may_go_to_any_path(self, starter: Starter, store: StoreServer) -> None:
        store.objects.update({"data/a/one": b"1\n", "data/a/two": b"2\n", "data/f.bin": b"file\n"})
        log = run(
            starter,
            "cat /data/set/one /data/set/two /srv/deep/er/f.bin; ls /opt/ml",
            data={"store://data/a/": "/data/set", "store://data/f.bin": "/srv/deep/er/f.bin"},
        )
        assert log == "1\n2\nfile\ncode\ninput\nmodel\noutput\nruns\n"

    def test_the_python_of_the_server_is_found(self, starter: Starter) -> None:
        log = run(starter, "python3 -c 'import pydantic, danlu, sys; print(sys.base_prefix, pydantic.__file__)'")
        assert log == f"{sys.base_prefix} {pydantic.__file__}\n"


class TestPeople:
    """A person has one user id for all jobs; what keeps jobs apart is the sandbox."""

    def test_jobs_of_one_person_share_an_id_and_of_two_do_not(self, starter: Starter, engine: LocalEngine) -> None:
        if os.geteuid() != 0:
            pytest.skip("the server is not root, so jobs have its own rights")
        ids = []
        for owner_id in (7, 7, 8):
            starter.owner_id = owner_id
            ids.append(run(starter, "id -u").strip())
        assert ids == ["1000000007", "1000000007", "1000000008"]

    def test_jobs_of_one_person_do_not_see_each_other(self, starter: Starter, engine: LocalEngine) -> None:
        """Neither files nor processes nor shared memory."""
        secret = starter.start(
            "echo hidden > $DANLU_OUTPUT_DIR/secret; echo hidden > /dev/shm/secret; echo hidden > ~/secret;"
            "ipcmk -M 64 > /dev/null; echo ready; exec sleep 3661.7"
        )
        secret.wait_for_log("ready")
        home = f"{engine.nodes()[0].work_dir}/{secret.plan.job_id}/1/0"
        assert Path(home, "ml/output/secret").exists()
        job = starter.start(
            f"cat {home}/ml/output/secret {home}/home/secret ../../../{secret.plan.job_id}/1/0/ml/output/secret;"
            "ls /dev/shm ~; grep -sl '61[.]7' /proc/[0-9]*/cmdline; pkill -f 'sleep 3661[.]7';"
            "tail -n +2 /proc/sysvipc/shm | sed 's/^/segment/'; echo to the end"
        )
        job.wait()
        assert "hidden" not in job.log()
        assert "cmdline" not in job.log()
        assert "segment" not in job.log()
        assert job.log().endswith("to the end\n")
        assert [seen.state for seen in secret.observe()] == [TaskState.RUNNING]

    def test_a_link_to_another_job_is_not_followed_by_the_upload(
        self, starter: Starter, store: StoreServer, engine: LocalEngine
    ) -> None:
        secret = starter.start("echo hidden > $DANLU_OUTPUT_DIR/secret; echo ready; sleep 3600")
        secret.wait_for_log("ready")
        place = f"{secret.plan.job_id}/1/0/ml/output/secret"
        job = starter.start(
            f"ln -s {engine.nodes()[0].work_dir}/{place} $DANLU_OUTPUT_DIR/one;"
            f"ln -s ../../../../../{place} $DANLU_OUTPUT_DIR/two; echo mine > $DANLU_OUTPUT_DIR/three"
        )
        job.wait()
        secret.stop()
        sent = {key: data for key, data in store.objects.items() if job.plan.job_id in key}
        assert any(key.endswith("/three") for key in sent)
        assert [key for key, data in sent.items() if b"hidden" in data] == []


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
            "    print(server.accept()[0].recv(100).decode())\n"
            "else:\n"
            "    while True:\n"
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

    def test_other_machines_are_reached_and_this_one_is_not(
        self, starter: Starter, engine: LocalEngine, another_machine: tuple[str, str]
    ) -> None:
        if any("way out" in sentence for sentence in engine.nodes()[0].missing):
            pytest.skip(str(engine.nodes()[0].missing))
        theirs, ours = another_machine
        with socket.create_server((ours, 0)) as server:
            port = server.getsockname()[1]
            program = (
                "import socket\n"
                f"print(socket.create_connection(('{theirs}', 9000)).recv(9).decode())\n"
                f"for where in (('{ours}', {port}), ('10.87.0.2', {port}), ('169.254.169.254', 80)):\n"
                "    try:\n"
                "        socket.create_connection(where, timeout=3); print('reached', where)\n"
                "    except OSError: print('no')\n"
            )
            log = run(starter, f'python3 -c "{program}"; cat /etc/resolv.conf')
        assert log == "outside\nno\nno\nno\nnameserver 10.87.0.3\n"

    def test_the_way_out_ends_with_the_gang(self, starter: Starter, engine: LocalEngine) -> None:
        if any("way out" in sentence for sentence in engine.nodes()[0].missing):
            pytest.skip(str(engine.nodes()[0].missing))
        job = starter.start("readlink /proc/self/ns/net; echo ready; sleep 3600", nodes=2)
        network = job.wait_for_log("ready", rank=1).split()[0]
        (mine,) = ways_out(network)
        engine.stop(job.handles[:1], 0)
        wait_until(lambda: job.observe()[0].state is TaskState.STOPPED)
        assert ways_out(network) == {mine}
        job.stop()
        wait_until(lambda: not ways_out(network))


def ways_out(network: str) -> set[int]:
    """The living processes that lead out of a network. One that has ended has no command line any more."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"slirp4netns" in (folder / "cmdline").read_bytes():
                links = [os.readlink(path) for path in (folder / "fd").iterdir()]
                found |= {int(folder.name)} if network in links else set()
    return found


@pytest.fixture
def another_machine() -> Iterator[tuple[str, str]]:
    """A network namespace that plays another machine; (its address, our address on the wire to it)."""
    if os.geteuid() != 0:
        pytest.skip("making another machine needs root")
    name = f"danlu-t{os.getpid()}"
    wire = f"dt{os.getpid()}"
    server = (
        "import socket\nserver = socket.create_server(('10.99.7.2', 9000))\n"
        "print('up', flush=True)\nserver.accept()[0].send(b'outside')"
    )
    commands = (
        f"netns add {name}\nlink add {wire} type veth peer name w1 netns {name}\n"
        f"addr add 10.99.7.1/24 dev {wire}\nlink set {wire} up\n"
    )
    inside = "addr add 10.99.7.2/24 dev w1\nlink set w1 up\nlink set lo up\n"
    subprocess.run(["ip", "-batch", "-"], input=commands, text=True, check=True)
    subprocess.run(["ip", "-n", name, "-batch", "-"], input=inside, text=True, check=True)
    argv = ["nsenter", f"--net=/run/netns/{name}", sys.executable, "-c", server]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield "10.99.7.2", "10.99.7.1"
        process.kill()
    subprocess.run(["ip", "netns", "del", name], check=True)
