"""Packages of jobs: made once by content, shared read-only, and a layer for what a job installs itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.security.sandbox.test_not_root import UID, as_another_user
from tests.support.wheels import make_wheel, wheel_folder

from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.errors import Unsupported
from danlu.launch import Owner
from danlu.node.environment.kept import list_kept
from danlu.testing.engines import Started, Starter
from danlu.testing.store_server import StoreServer

OFFLINE = "--no-index\n--find-links wheels\n"
MADE = "danlu: making an environment"
SPY = """
import os, zipfile

def build_wheel(folder, config=None, metadata=None):
    seen = {
        'uid': os.getuid(),
        'run': sorted(os.listdir('/run/danlu')),
        'has_code': os.path.exists('/opt/ml'),
        'has_token': 'DANLU_TOKEN_FILE' in os.environ,
        'capabilities': [line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')],
    }
    with zipfile.ZipFile(os.path.join(folder, 'spy-1-py3-none-any.whl'), 'w') as wheel:
        wheel.writestr('spy.py', f'SEEN = {seen!r}')
        wheel.writestr('spy-1.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: spy\\nVersion: 1\\n')
        wheel.writestr('spy-1.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
        wheel.writestr('spy-1.dist-info/RECORD', '')
    return 'spy-1-py3-none-any.whl'
"""


@pytest.fixture(params=["sandbox"])
def kind(request: pytest.FixtureRequest) -> str:
    """Without a sandbox there is less to see: one class is for that."""
    return str(request.param)


@pytest.fixture(params=["uv"])
def installer(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def settings(settings: EngineSettings, installer: str) -> EngineSettings:
    return settings.model_copy(update={"uv": installer == "uv"})


def code_of(store: StoreServer, requirements: str, **files: bytes) -> dict[str, Any]:
    """A code folder with two wheels and a file of requirements."""
    wheels = wheel_folder(make_wheel("iron"), make_wheel("steel", "2.0", needs=["iron"]))
    return {"tree": store.add_tree({**wheels, "requirements.txt": requirements.encode(), **files})}


def end(started: Started) -> str:
    (seen,) = started.wait()
    assert seen.exit_code == 0, (seen, started.log())
    return started.log()


class TestRequirements:
    @pytest.mark.parametrize("installer", ["uv", "pip"], indirect=True)
    def test_they_are_installed_once_and_used_by_the_next_job(
        self, starter: Starter, store: StoreServer, engine: LocalEngine, installer: str
    ) -> None:
        code = code_of(store, f"{OFFLINE}steel==2.0  # and what it needs\n")
        command = "steel; iron; python -c 'import steel, iron, danlu; print(steel.VERSION, iron.VERSION)'"
        first = end(starter.start(command, code=code, requirements="requirements.txt"))
        assert f"{MADE} from requirements.txt with {installer} and" in first
        assert first.endswith("steel 2.0\niron 1.0\n2.0 1.0\n")
        other = code_of(store, f"{OFFLINE}steel==2.0  # and what it needs\n", **{"train.py": b"print('more code')"})
        second = end(starter.start(command, code=other, requirements="requirements.txt"))
        assert second == "steel 2.0\niron 1.0\n2.0 1.0\n"
        (kept,) = engine.nodes()[0].environments
        assert (kept.packages, kept.project_id) == (("iron==1.0", "steel==2.0"), 0)
        assert kept.size_bytes > 0

    def test_a_lock_of_uv_is_installed_as_it_is(self, starter: Starter, store: StoreServer, tmp_path: Path) -> None:
        """Made by uv itself, of wheels in the code folder."""
        code = tmp_path / "code"
        (code / "wheels").mkdir(parents=True)
        for name, data in (make_wheel("iron"), make_wheel("steel", "2.0", needs=["iron"])):
            (code / "wheels" / name).write_bytes(data)
        sources = "\n".join(
            f'{name} = {{ path = "wheels/{name}-{version}-py3-none-any.whl" }}'
            for name, version in (("iron", "1.0"), ("steel", "2.0"))
        )
        (code / "pyproject.toml").write_text(
            '[project]\nname = "mine"\nversion = "0"\nrequires-python = ">=3.11"\n'
            f'dependencies = ["iron", "steel"]\n[tool.uv.sources]\n{sources}\n'
        )
        uv = str(Path(sys.executable).with_name("uv"))
        words = [uv, "lock", "--offline", "--python", sys.executable, "--cache-dir", str(tmp_path / "cache")]
        subprocess.run(words, cwd=code, check=True, capture_output=True)
        files = {str(path.relative_to(code)): path.read_bytes() for path in code.rglob("*") if path.is_file()}
        wanted: dict[str, Any] = {"code": {"tree": store.add_tree(files)}, "requirements": "uv.lock"}
        first = end(starter.start("steel; iron", **wanted))
        assert f"{MADE} from uv.lock with uv" in first
        assert first.endswith("steel 2.0\niron 1.0\n")
        assert end(starter.start("steel", **wanted)) == "steel 2.0\n"

    def test_tasks_of_a_gang_wait_for_the_one_that_makes_it(self, starter: Starter, store: StoreServer) -> None:
        started = starter.start(
            "steel", nodes=3, code=code_of(store, ""), requirements=[*OFFLINE.splitlines(), "steel"]
        )
        assert {seen.exit_code for seen in started.wait()} == {0}, started.log()
        logs = [started.log(rank) for rank in range(3)]
        assert sum(MADE in log for log in logs) == 1
        assert all(log.endswith("steel 2.0\n") for log in logs)

    def test_other_wheels_of_the_same_name_are_another_environment(self, starter: Starter, store: StoreServer) -> None:
        """What is read from the code is part of what an environment is known by."""
        wanted = [*OFFLINE.splitlines(), "iron"]
        assert "iron 1.0" in end(starter.start("iron", code=code_of(store, ""), requirements=wanted))
        newer = store.add_tree(wheel_folder(make_wheel("iron", "1.1")))
        log = end(starter.start("iron", code={"tree": newer}, requirements=wanted))
        assert MADE in log
        assert log.endswith("iron 1.1\n")

    def test_projects_do_not_share(self, engine: LocalEngine, starter: Starter, store: StoreServer) -> None:
        wanted: dict[str, Any] = {"code": code_of(store, f"{OFFLINE}iron"), "requirements": "requirements.txt"}
        for project_id in (3, 4):
            starter.owner = Owner("li", "vision", project_id)
            assert MADE in end(starter.start("iron", **wanted))
        assert sorted(one.project_id for one in engine.nodes()[0].environments) == [3, 4]

    def test_what_cannot_be_installed_fails_the_job_and_leaves_nothing(
        self, engine: LocalEngine, starter: Starter, store: StoreServer
    ) -> None:
        started = starter.start("true", code=code_of(store, f"{OFFLINE}gold"), requirements="requirements.txt")
        (seen,) = started.wait()
        assert (seen.reason, seen.exit_code) == ("environment_failed", None)
        assert "could not install requirements.txt" in seen.message
        assert "gold" in started.log()
        assert engine.nodes()[0].environments == ()

    def test_what_is_not_in_the_code_is_refused(self, starter: Starter, store: StoreServer) -> None:
        started = starter.start("true", code=code_of(store, "-r /etc/passwd\n"), requirements="requirements.txt")
        (seen,) = started.wait()
        assert seen.reason == "environment_failed"
        assert "'/etc/passwd' is outside of the code folder" in seen.message


class TestSharing:
    def test_a_job_cannot_change_it(self, starter: Starter, store: StoreServer) -> None:
        wanted: dict[str, Any] = {"code": code_of(store, f"{OFFLINE}iron"), "requirements": "requirements.txt"}
        spoil = "echo evil > $(python -c 'import iron; print(iron.__file__)'); ls /run/danlu; touch /run/danlu/x"
        started = starter.start(spoil, **wanted)
        started.wait()
        assert started.log().count("Read-only file system") == 2
        assert "\nenvironment\n" in started.log()
        assert end(starter.start("iron", **wanted)) == "iron 1.0\n"

    def test_a_build_has_no_rights_and_sees_no_other(self, starter: Starter, store: StoreServer) -> None:
        """A package that looks around as it is built, as anybody's may."""
        project = b'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        tree = store.add_tree({"spy/backend.py": SPY.encode(), "spy/pyproject.toml": project})
        started = starter.start(
            "python -c 'import json, spy; print(json.dumps(spy.SEEN))'",
            code={"tree": tree},
            requirements=["--no-index", "./spy"],
        )
        started.wait()
        found = json.loads(started.log().splitlines()[-1])
        is_root = os.geteuid() == 0
        assert found == {
            "uid": 1_500_000_000 if is_root else os.getuid(),
            "run": ["environment", "requirements"],
            "has_code": False,
            "has_token": False,
            "capabilities": ["0" * 16],
        }

    def test_the_least_used_goes_first_and_none_in_use(self, settings: EngineSettings, store: StoreServer) -> None:
        engine = LocalEngine(settings.model_copy(update={"environment_bytes": 1}))
        starter = Starter(engine, server_url=store.url, token=store.token)
        code = code_of(store, "")
        holds = starter.start("iron; exec sleep 3600", code=code, requirements=[*OFFLINE.splitlines(), "iron"])
        holds.wait_for_log("iron 1.0")
        end(starter.start("steel", code=code, requirements=[*OFFLINE.splitlines(), "steel"]))
        assert [one.packages for one in list_kept(str(settings.environments_dir))] == [
            ("iron==1.0", "steel==2.0"),
            ("iron==1.0",),
        ]
        holds.stop()
        end(starter.start("iron", code=code, requirements=[*OFFLINE.splitlines(), "iron==1.0"]))
        assert [one.packages for one in list_kept(str(settings.environments_dir))] == [("iron==1.0",)]
        starter.clean_up()


class TestLayer:
    def test_pip_in_setup_works_and_stays_in_the_job(self, starter: Starter, store: StoreServer) -> None:
        code = code_of(store, f"{OFFLINE}steel\n")
        setup = "pip install -q -r requirements.txt"
        log = end(starter.start("steel; python -c 'import steel, danlu; print(steel.VERSION)'", code=code, setup=setup))
        assert log.endswith("steel 2.0\n2.0\n")
        started = starter.start("python -c 'import steel'", code=code)
        assert started.wait()[0].exit_code == 1

    def test_programs_of_the_server_see_it(self, starter: Starter, store: StoreServer) -> None:
        """torchrun and the like name the server's Python in their first line."""
        code = code_of(store, "")
        setup = "pip install -q --no-index --find-links wheels iron"
        program = "head -1 $(command -v danlu) | sed 's/#!//' > p; $(cat p) -c 'import iron; print(iron.VERSION)'"
        assert end(starter.start(program, code=code, setup=setup)) == "1.0\n"

    def test_it_lies_over_what_the_job_requires(self, starter: Starter, store: StoreServer) -> None:
        newer = wheel_folder(make_wheel("iron"), make_wheel("iron", "1.1"))
        code = {"tree": store.add_tree(newer)}
        log = end(
            starter.start(
                "iron; python -c 'import iron; print(iron.VERSION)'",
                code=code,
                requirements=[*OFFLINE.splitlines(), "iron==1.0"],
                setup="pip install -q --no-index --find-links wheels iron==1.1",
            )
        )
        assert log.endswith("iron 1.1\n1.1\n")


class TestWithoutSandbox:
    @pytest.fixture
    def kind(self) -> str:
        return "plain"

    def test_requirements_and_a_layer_over_them(self, starter: Starter, store: StoreServer) -> None:
        code = code_of(store, f"{OFFLINE}iron\n")
        wanted: dict[str, Any] = {"code": code, "requirements": "requirements.txt"}
        setup = "pip install -q --no-index --find-links wheels steel"
        first = end(starter.start("iron; steel", setup=setup, **wanted))
        assert MADE in first
        assert first.endswith("iron 1.0\nsteel 2.0\n")
        assert end(starter.start("iron", **wanted)) == "iron 1.0\n"


class TestPython:
    def test_one_that_the_node_has_not_got_is_refused(self, starter: Starter) -> None:
        with pytest.raises(Unsupported, match=r"python: expected one of .*3\.11.*, got '3\.2'"):
            starter.start("true", python="3.2")

    def test_another_one_runs_the_command_with_its_own_packages(
        self, settings: EngineSettings, store: StoreServer
    ) -> None:
        other = _another_python()
        if other is None:
            pytest.skip("this machine has one Python")
        engine = LocalEngine(settings.model_copy(update={"pythons": (other,)}))
        version = other.name.removeprefix("python")
        assert version in engine.nodes()[0].pythons
        starter = Starter(engine, server_url=store.url, token=store.token)
        show = "import sys, iron, danlu.track; print(*sys.version_info[:2], iron.VERSION)"
        command = f"python -c '{show}'; python -c 'import httpx'"
        started = starter.start(
            command, python=version, code=code_of(store, f"{OFFLINE}iron"), requirements="requirements.txt"
        )
        (seen,) = started.wait()
        assert f"{version.replace('.', ' ')} 1.0\n" in started.log()
        assert seen.exit_code == 1, "packages of the server are for its own Python"
        starter.clean_up()


def _another_python() -> Path | None:
    """An interpreter of another version, of the same installer as this one."""
    own = Path(os.path.realpath(sys.executable))
    for place in sorted(own.parents[2].glob("*/bin/python3.*")):
        name = place.name.removeprefix("python3.")
        if name.isdigit() and int(name) >= 9 and int(name) != sys.version_info[1]:
            return place
    return None


NOT_ROOT = r"""
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.engines.test_local_environments import MADE, OFFLINE, code_of
from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.testing.engines import Starter
from danlu.testing.store_server import running_store
engine = LocalEngine(EngineSettings(work_dir=Path(sys.argv[1]) / "work", server_id="not-root"))
(node,) = engine.nodes()
found = {"has_sandbox": node.has_sandbox, "missing": list(node.missing), "logs": []}
if node.has_sandbox:
    with running_store() as store:
        starter = Starter(engine, server_url=store.url, token=store.token)
        for _ in range(2):
            job = starter.start("id -u; steel", code=code_of(store, OFFLINE + "steel"), requirements="requirements.txt")
            job.wait()
            found["logs"].append(job.log())
        spoil = starter.start("echo evil > /run/danlu/environment/x", code=code_of(store, OFFLINE + "steel"),
                              requirements="requirements.txt")
        spoil.wait()
        found["spoil"] = spoil.log()
        setup = "pip install -q -r requirements.txt"
        layer = starter.start("steel", code=code_of(store, OFFLINE + "steel"), setup=setup)
        layer.wait()
        found["layer"] = layer.log()
        starter.clean_up()
print(json.dumps(found))
"""


def test_the_same_without_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs to be root, to become somebody who is not")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "data").mkdir()
        os.chown(folder / "data", UID, UID)
        (folder / "try.py").write_text(NOT_ROOT)
        argv = [sys.executable, str(folder / "try.py"), str(folder / "data"), str(Path(__file__).parents[2])]
        done = subprocess.run(as_another_user(argv, folder), capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if not found["has_sandbox"]:
        pytest.skip(str(found["missing"]))
    first, second = found["logs"]
    assert MADE in first
    assert first.endswith(f"{UID}\nsteel 2.0\n")
    assert second == f"{UID}\nsteel 2.0\n"
    assert "Read-only file system" in found["spoil"]
    assert found["layer"].endswith("steel 2.0\n")
