"""Jobs with an image on a server that is not root: fetched by rootless podman, and by Danlu itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.fakes.registry import layer, running_registry
from tests.security.sandbox.test_not_root import UID, as_another_user
from tests.support.certificates import make_certificate

from danlu.engines.local import LocalEngine
from danlu.engines.local.drivers import find_drivers
from danlu.engines.settings import EngineSettings
from danlu.errors import Unsupported
from danlu.testing.engines import Starter

BUSYBOX = shutil.which("busybox")
APPLETS = ("sh", "cat", "ls", "id", "grep", "touch", "chroot", "mount", "env", "stat", "tr")
LOOK = (
    "id -u; id -un; cat /etc/motd; touch /bin/x /tmp/x; ls /proc/1/root /run/danlu; chroot / true;"
    "grep CapEff /proc/self/status; echo $FLAVOUR; ls /"
)
LOCKED = "mount -t tmpfs none /mnt; cat $DOOR/secret; ls /root"
LIBRARY = "/usr/lib/x86_64-linux-gnu/libcuda.so.570.1"


def busybox_files() -> dict[str, bytes | None]:
    assert BUSYBOX is not None
    return {
        **{"bin/busybox": Path(BUSYBOX).read_bytes(), "etc/motd": b"this is the image\n", "mnt": None},
        **{"etc/passwd": b"root:x:0:0:root:/:/bin/sh\n"},
    }


def write_cdi(folder: Path) -> Path:
    """A CDI file as NVIDIA's toolkit writes it, with a library that is not one."""
    host = folder / "driver"
    host.mkdir()
    (host / "libcuda.so.570.1").write_text("the driver's library")
    (host / "libcuda.so.1").symlink_to("libcuda.so.570.1")
    (host / "smi").write_text("#!/bin/sh\necho two fans\n")
    (host / "smi").chmod(0o755)
    edits = {
        "env": ["NVIDIA_VISIBLE_DEVICES=void", "DRIVER=570.1"],
        "mounts": [
            {"hostPath": str(host / "libcuda.so.570.1"), "containerPath": LIBRARY, "options": ["ro", "bind"]},
            {"hostPath": str(host / "smi"), "containerPath": "/bin/nvidia-smi"},
            {"hostPath": "/nowhere/lib.so", "containerPath": "/usr/lib/lib.so"},
            {"hostPath": "/etc/hostname", "containerPath": "/proc/../etc/passwd"},
        ],
        "hooks": [{"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook"}],
    }
    devices = [{"name": str(n), "containerEdits": {"deviceNodes": [{"path": f"/dev/fd{n}"}]}} for n in range(2)]
    cdi = folder / "cdi"
    cdi.mkdir()
    described = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "containerEdits": edits, "devices": devices}
    (cdi / "nvidia.yaml").write_text(yaml.safe_dump(described))
    (cdi / "broken.json").write_text("{")
    return cdi


def try_images(folder: Path, tool: str) -> dict[str, Any]:
    """Run jobs with images; a process of another user does this."""
    cdi = write_cdi(folder)
    certificate = make_certificate(folder)
    networks = "127.0.0.0/8,::1/128"
    options: dict[str, Any] = {"input_networks": networks, "input_ca_file": certificate, "cdi_dirs": (cdi,)}
    engine = LocalEngine(EngineSettings(work_dir=folder / "work", server_id="not-root", **options))
    (node,) = engine.nodes()
    found: dict[str, Any] = {"has_sandbox": node.has_sandbox, "problem": node.image_problem, "tool": node.image_tool}
    if not node.image_tool or node.image_tool != tool:
        return found
    with running_registry(certificate) as registry:

        def offer(name: str, links: dict[str, str]) -> str:
            archive = layer(busybox_files(), links={**{f"bin/{one}": "busybox" for one in APPLETS}, **links})
            if tool == "danlu":
                return registry.add_image(name, [archive], env=["FLAVOUR=busybox", "PATH=/bin"])
            (folder / "image.tar.gz").write_bytes(archive)
            words = ["podman", *engine._can.image_options, "import", "-c", "ENV FLAVOUR=busybox", "-c", "ENV PATH=/bin"]
            subprocess.run([*words, folder / "image.tar.gz", f"localhost/{name}"], check=True, capture_output=True)
            return f"localhost/{name}"

        name = offer("danlu/busybox:1", {})
        starter = Starter(engine)
        (folder / "secret").write_text("of the machine")
        for word, command in (("look", LOOK), ("locked", LOCKED.replace("$DOOR", str(folder)))):
            job = starter.start(command, image=name)
            found[word] = [job.wait()[0].reason, job.log()]
        plan = starter.plan(
            f"cat {LIBRARY} /usr/lib/x86_64-linux-gnu/libcuda.so.1; echo; nvidia-smi;"
            "echo $LD_LIBRARY_PATH $DRIVER $NVIDIA_VISIBLE_DEVICES; cat /etc/passwd | grep -c root",
            image=name,
            env={"PATH": "/bin:/usr/bin"},
        )
        task = plan.tasks[0].model_copy(update={"device_type": "gpu", "device_ids": (0,)})
        devices = plan.model_copy(update={"tasks": (task,)})
        job = starter.start_plan(devices)
        job.wait()
        found["drivers"] = job.log()
        victim = folder / "victim"
        victim.mkdir()
        tops = ("opt", "home", "tmp", "run", "var", "proc", "dev", "srv")
        doors = {top: f"{'/oldroot' if top < 'p' else ''}{victim}" for top in tops}
        job = starter.start("cat /etc/motd; touch /tmp/x ~/y", image=offer("evil/busybox:1", doors))
        found["hostile"] = [job.wait()[0].reason, job.log(), sorted(os.listdir(victim))]
        starter.clean_up()
    modes = [path.lstat() for path in (folder / "work" / ".images").rglob("*")]
    found["owners"] = sorted({mode.st_uid for mode in modes})
    return found


TRY = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.engines.test_local_images import try_images
print(json.dumps(try_images(Path(sys.argv[1]), sys.argv[3])))
"""


@pytest.fixture(scope="module", params=["podman", "danlu"])
def found(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    if os.geteuid() != 0:
        pytest.skip("needs to be root, to become somebody who is not")
    if BUSYBOX is None:
        pytest.skip("no busybox-static; scripts/system-packages.sh tests installs it")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "data" / "home").mkdir(parents=True)
        for path in (folder / "data", folder / "data" / "home"):
            os.chown(path, UID, UID)
        (folder / "try.py").write_text(TRY)
        search_path = os.environ["PATH"] if request.param == "podman" else hide_tools(folder / "bin")
        words = ["env", f"HOME={folder}/data/home", f"PATH={search_path}", sys.executable, str(folder / "try.py")]
        argv = [*words, str(folder / "data"), str(Path(__file__).parents[2]), str(request.param)]
        done = subprocess.run(as_another_user(argv, folder), capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        if not answer["has_sandbox"] or answer["problem"] or answer["tool"] != request.param:
            pytest.skip(f"no images by {request.param} here: {answer}")
        yield answer


def hide_tools(folder: Path) -> str:
    """A PATH without podman and docker."""
    folder.mkdir()
    places = [Path(place) for place in os.environ["PATH"].split(":")]
    for path in (path for place in places if place.is_dir() for path in place.iterdir()):
        if path.name not in ("podman", "docker") and not (folder / path.name).is_symlink():
            (folder / path.name).symlink_to(path)
    return str(folder)


def test_the_job_sees_the_image_and_nothing_of_the_machine(found: dict[str, Any]) -> None:
    _, log = found["look"]
    uid, name, motd, *rest = log.splitlines()
    assert (uid, name, motd) == (str(UID), "danlu", "this is the image")
    told = [line.rpartition(": ")[2] for line in rest[:4]]
    assert told == [
        "Read-only file system",
        "Permission denied",
        "No such file or directory",
        "Operation not permitted",
    ]
    assert rest[4:6] == [f"CapEff:\t{0:016x}", "busybox"]
    assert rest[6:] == ["bin", "dev", "etc", "home", "mnt", "opt", "proc", "run", "tmp", "var"]


def test_it_has_no_rights_and_no_way_out(found: dict[str, Any]) -> None:
    _, log = found["locked"]
    assert [line.rpartition(": ")[2] for line in log.splitlines()] == [
        "permission denied (are you root?)",
        "No such file or directory",
        "No such file or directory",
    ]


def test_files_of_the_driver_are_laid_over_it(found: dict[str, Any]) -> None:
    """As the CDI file says, with the names that ldconfig would have made."""
    assert found["drivers"].splitlines() == [
        "the driver's librarythe driver's library",
        "two fans",
        "/usr/lib/x86_64-linux-gnu 570.1",
        "1",
    ]


def test_links_of_an_image_lead_nowhere(found: dict[str, Any]) -> None:
    assert found["hostile"] == ["", "this is the image\n", []]


def test_all_files_belong_to_who_runs_the_server(found: dict[str, Any]) -> None:
    assert found["owners"] == [UID]


class TestDrivers:
    def test_devices_are_those_of_the_task(self, tmp_path: Path) -> None:
        cdi = write_cdi(tmp_path)
        assert find_drivers("gpu", (1,), cdi_dirs=[cdi]).devices == ("/dev/fd1",)
        assert find_drivers("npu", (1,), cdi_dirs=[cdi]).env == {}
        assert find_drivers("gpu", (), cdi_dirs=[cdi]).env == {}

    def test_a_library_has_every_name_that_the_machine_has_for_it(self, tmp_path: Path) -> None:
        found = find_drivers("gpu", (0,), cdi_dirs=[tmp_path / "none", write_cdi(tmp_path)])
        source = str(tmp_path / "driver" / "libcuda.so.570.1")
        assert found.files == {
            LIBRARY: source,
            "/usr/lib/x86_64-linux-gnu/libcuda.so.1": source,
            "/usr/bin/nvidia-smi": str(tmp_path / "driver" / "smi"),
        }


def test_without_a_sandbox_there_are_no_images(tmp_path: Path) -> None:
    engine = LocalEngine(EngineSettings(work_dir=tmp_path / "work", server_id="test", sandbox=False))
    with pytest.raises(Unsupported, match="there is no sandbox to run them in"):
        Starter(engine).start("true", image="x")
