"""Members choose where inputs are put. No such path may lie over what runs with rights, or lead through a link.

Each attack is tried as the job file that a member would submit, and as a plan that was made in spite of its refusal.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import danlu
from danlu.engines.local import LocalEngine
from danlu.engines.local.sandbox import Machine, View, wrap
from danlu.engines.settings import EngineSettings
from danlu.errors import DanluError, InvalidSpec, Unsupported
from danlu.launch import Fetch, Owner, Plan
from danlu.launch.targets import FOLDERS
from danlu.spec.states import TaskState
from danlu.testing.engines import Starter
from danlu.testing.store_server import StoreServer

EVIL = b"import os\nos.write(1, b'attacker: uid %d\\n' % os.getuid())\n"


@pytest.fixture(autouse=True)
def evil(store: StoreServer) -> None:
    store.objects.update({"evil/module/__init__.py": EVIL, "evil/init.py": EVIL})


@pytest.fixture
def own_folder() -> Iterator[Path]:
    """A folder of the machine of a name that inputs may go to, such as /data."""
    free = [path for path in map(Path, FOLDERS) if not path.exists()]
    if not free:
        pytest.skip("all of these folders exist on this machine")
    free[0].mkdir()
    yield free[0]
    shutil.rmtree(free[0])


def forged(starter: Starter, target: str, **fields: Any) -> Plan:
    """A plan with a target that no job file can have."""
    plan = starter.plan("echo the command ran", **fields)
    task = plan.tasks[0]
    fetch = Fetch(source="store://evil/module/", to=target)
    return plan.model_copy(update={"tasks": (task.model_copy(update={"inputs": (*task.inputs, fetch)}),)})


def what_starts(starter: Starter, plan: Plan) -> str:
    """The log of a plan, or what it is refused with."""
    try:
        started = starter.start_plan(plan)
    except DanluError as error:
        return f"refused: {error}"
    started.wait()
    return started.log()


class TestInterpreter:
    """Hole 1a: code in the standard library of the Python that runs init."""

    @pytest.mark.parametrize(
        "target",
        [
            os.path.dirname(json.__file__),
            f"{sysconfig.get_paths()['stdlib']}/encodings",
            sysconfig.get_paths()["stdlib"],
            sys.base_prefix,
            os.path.dirname(sys.base_prefix),
            sys.prefix,
            os.path.realpath(sys.executable),
            os.path.dirname(danlu.__file__),
            f"{os.path.dirname(danlu.__file__)}/node/supervise",
        ],
    )
    def test_nothing_is_laid_over_it(self, starter: Starter, target: str) -> None:
        assert what_starts(starter, forged(starter, target)).startswith("refused: ")

    def test_a_member_is_told_what_is_allowed(self, starter: Starter) -> None:
        with pytest.raises(InvalidSpec, match="expected a relative path, or one in /opt/ml, /cache") as refused:
            starter.plan("true", data={"store://evil/module/": os.path.dirname(json.__file__)})
        assert set(refused.value.fields) == {"data"}

    def test_one_in_a_folder_for_inputs_is_safe_too(
        self, settings: EngineSettings, starter: Starter, own_folder: Path
    ) -> None:
        """Such as conda in /data, beside which a job may put its inputs."""
        tools = own_folder / "conda"
        tools.mkdir()
        (tools / "tool").write_text("of the machine\n")
        starter.engine = LocalEngine(settings.model_copy(update={"show": (tools,)}))
        for target in (str(tools), f"{tools}/tool", str(own_folder)):
            with pytest.raises(Unsupported, match="cannot be given to a job on this node"):
                starter.start("true", data={"store://evil/module/": target})
        beside = starter.start(f"cat {tools}/tool; ls {own_folder}", data={"store://evil/": f"{own_folder}/set"})
        beside.wait()
        assert beside.log() == "of the machine\nconda\nset\n"


@pytest.mark.parametrize(
    "target",
    [
        "/etc/ld.so.preload",
        "/etc/ld.so.cache",
        "/etc/passwd",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64",
        "/libx32/x",
        "/usr/lib/locale",
        "/usr",
        "/bin/sh",
        "/opt",
        "/opt/conda",
        "/proc/self",
        "/proc",
        "/dev/shm/x",
        "/sys/fs/cgroup",
        "/run/danlu/root",
        "/run",
        "/root/.ssh",
        "/var/lib",
        "/home",
        "/tmp",
        "/",
        "/data/../etc",
        "//etc/x",
        "/data//x",
        "etc",
    ],
)
def test_no_system_folder_can_be_a_target(starter: Starter, tmp_path: Path, target: str) -> None:
    if target == os.path.normpath(target) and target.startswith("/"):  # others become so when a job file is read
        with pytest.raises(InvalidSpec):
            starter.plan("true", data={"store://evil/module/": target})
    assert what_starts(starter, forged(starter, target)).startswith("refused: ")
    view = View("host", "/opt/ml", ((str(tmp_path), target),), (), "cpu", (), changes_uid=True)
    with pytest.raises(Unsupported):  # the last one to look at it
        wrap(Machine("bwrap", (), (sys.prefix,)), view)


class TestHome:
    """Hole 1b to 1d: a home outlives a job, and its owner leaves links in it."""

    @pytest.fixture
    def victim(self, tmp_path: Path) -> Path:
        """A folder of the machine that only root may write to."""
        path = tmp_path / "only-root"
        path.mkdir(mode=0o755)
        return path

    @pytest.mark.parametrize(
        ("link_to", "below"),
        [("/run/danlu", "init.py"), ("/oldroot{victim}", "made"), ("/newroot/usr/bin", "sh"), ("{victim}", "made")],
        ids=["run folder", "old root", "new root", "the machine"],
    )
    def test_a_link_in_it_leads_nowhere(self, starter: Starter, victim: Path, link_to: str, below: str) -> None:
        link_to = link_to.format(victim=victim)
        lay = starter.start(f"ln -sfn {link_to} ~/door; ln -sfn {link_to} /data/door", contract="apulis")
        assert lay.wait()[0].state is TaskState.SUCCEEDED, lay.log()
        for door in ("/home/mallory/door", "/data/door"):
            for target in (door, f"{door}/{below}", f"{door}/deep/er/{below}"):
                with pytest.raises(InvalidSpec, match="which outlives the job"):
                    starter.plan("true", contract="apulis", data={"store://evil/init.py": target})
                log = what_starts(starter, forged(starter, target, contract="apulis"))
                assert log.startswith("refused: "), log
        assert list(victim.iterdir()) == []

    def test_no_program_of_root_can_be_left_in_it(
        self, starter: Starter, settings: EngineSettings, tmp_path: Path
    ) -> None:
        """What a job leaves there is its own user's, also with the bit set, and gains nobody anything in a job."""
        leave = "for at in ~ /data; do cp $(which id) $at/id; chmod 6755 $at/id; ls -ln $at/id | cut -c1-10; done"
        lay = starter.start(leave, contract="apulis")
        lay.wait()
        assert lay.log() == "-rwsr-sr-x\n" * 2
        left = [*settings.kept["home"].rglob("*"), *settings.kept["shared"].rglob("*")]
        assert {path.lstat().st_uid for path in left if path.name == "id"} == {1_000_000_066}
        assert [path for path in left if path.is_file() and path.lstat().st_uid == 0] == []
        starter.owner_id, starter.owner = 67, Owner("eve", "red")
        use = starter.start("/data/id -u; grep -E ' (/home/eve|/data) ' /proc/self/mountinfo", contract="apulis")
        use.wait()
        uid, *mounts = use.log().splitlines()
        assert uid == "1000000067"
        assert [{"nosuid", "nodev"} <= set(line.split()[5].split(",")) for line in mounts] == [True, True]

    def test_what_is_hidden_in_the_shared_folders_place_is_not_looked_for_in_it(
        self, settings: EngineSettings, starter: Starter, victim: Path
    ) -> None:
        """The data folder in /data of the machine, and a link of its name in the project's /data."""
        data = Path("/data")
        if data.exists():
            pytest.skip("this machine has a /data")
        hidden = data / "danlu"
        hidden.mkdir(parents=True)
        try:
            (hidden / "danlu.db").write_text("the database\n")
            starter.engine = LocalEngine(settings.model_copy(update={"hide": (hidden,)}))
            lay = starter.start(f"ln -sfn /oldroot{victim} /data/danlu", contract="apulis")
            lay.wait()
            use = starter.start("ls /data; cat /data/danlu/danlu.db; echo ran", contract="apulis")
            assert use.wait()[0].state is TaskState.SUCCEEDED, use.log()
            plain = starter.start("cat /data/danlu/danlu.db; echo ran")
            plain.wait()
        finally:
            shutil.rmtree(data)
        assert list(victim.iterdir()) == []
        assert "the database" not in use.log() + plain.log()
        assert use.log().startswith("danlu\n")

    def test_a_home_that_holds_danlus_own_python_is_refused(
        self, settings: EngineSettings, starter: Starter, victim: Path
    ) -> None:
        """It would be laid into a folder that its owner writes to: /home/mallory/venv could be a link by then."""
        home = Path("/home/mallory")
        if home.exists():
            pytest.skip("this machine has such a person")
        (home / "venv").mkdir(parents=True)
        try:
            starter.engine = LocalEngine(settings.model_copy(update={"show": (home / "venv",)}))
            with pytest.raises(Unsupported, match="'/home/mallory' cannot be given to a job on this node"):
                starter.start("true", contract="apulis")
        finally:
            shutil.rmtree(home)

    def test_an_os_user_danlu_with_danlus_python_at_home_can_run_jobs(
        self, settings: EngineSettings, starter: Starter
    ) -> None:
        home = Path("/home/danlu")
        if home.exists():
            pytest.skip("this machine has such a user")
        (home / "venv").mkdir(parents=True)
        try:
            (home / "venv" / "tool").write_text("of the machine\n")
            starter.engine = LocalEngine(settings.model_copy(update={"show": (home / "venv",)}))
            job = starter.start("cat /home/danlu/venv/tool; echo $HOME; touch ~/mine; ls /home/danlu ~; echo ~danlu")
            job.wait()
        finally:
            shutil.rmtree(home)
        expected = "of the machine\n/home/danlu-job\n/home/danlu:\nvenv\n\n/home/danlu-job:\nmine\n/home/danlu-job\n"
        assert job.log() == expected


class TestInputs:
    def test_an_input_in_another_one_is_no_mount_of_its_own(self, starter: Starter, store: StoreServer) -> None:
        store.objects.update({"data/a/one": b"1\n", "data/b/two": b"2\n", "data/c": b"3\n"})
        job = starter.start(
            "cat /data/x/one /data/x/deep/two ~/c; grep -c ' /data/x' /proc/self/mountinfo; touch /data/x/new ~/new",
            data={"store://data/a/": "/data/x", "store://data/b/": "/data/x/deep", "store://data/c": "/home/danlu/c"},
        )
        (seen,) = job.wait()
        assert (seen.state, job.log()) == (TaskState.SUCCEEDED, "1\n2\n3\n1\n")

    def test_a_file_in_the_way_of_an_input_is_a_failed_input(self, starter: Starter, store: StoreServer) -> None:
        store.objects.update({"data/a/deep": b"a file\n", "data/b/two": b"2\n"})
        job = starter.start("true", data={"store://data/a/": "/data/x", "store://data/b/": "/data/x/deep"})
        assert job.wait()[0].reason == "staging_failed"

    def test_folders_of_the_machine_of_that_name_are_not_shown_beside_it(
        self, starter: Starter, own_folder: Path, store: StoreServer
    ) -> None:
        """So that no link of the machine is on the way, and nothing of it is mistaken for an input."""
        (own_folder / "of-the-machine").mkdir()
        (own_folder / "link").symlink_to("/etc")
        store.objects.update({"data/a": b"1\n"})
        job = starter.start(f"ls {own_folder}; ls {own_folder}/link", data={"store://data/a": f"{own_folder}/link/a"})
        job.wait()
        assert job.log() == "link\na\n"
        assert not Path("/etc/a").exists()
