"""Images are archives that anybody can make. Root unpacks them, and lays folders of the task over their files."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import stat
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.local import LocalEngine
from danlu.errors import InvalidSpec
from danlu.node.image.tool import ImageProblem
from danlu.node.image.unpack import TooLarge, copy
from danlu.node.stage import image as image_script
from danlu.node.task import TaskElsewhere, TaskImage
from danlu.spec.job import parse_job
from danlu.spec.states import TaskState
from danlu.testing.engines import Starter
from danlu.testing.store_server import StoreServer
from danlu.testing.waiting import wait_until

NAME = "localhost/danlu-hostile:1"
BUSYBOX = shutil.which("busybox")


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "only-root"
    path.mkdir(mode=0o755)
    return path


def add(archive: tarfile.TarFile, name: str, kind: bytes = tarfile.REGTYPE, **fields: object) -> None:
    data = fields.pop("data", b"")
    assert isinstance(data, bytes)
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.size = kind, 0o755, len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    archive.addfile(info, io.BytesIO(data))


def hostile_archive(path: Path, victim: Path) -> None:
    """Files of an image with a link, a device or a pipe at every path that something is laid over or read from."""
    assert BUSYBOX is not None
    with tarfile.open(path, "w") as archive:
        add(archive, "bin", tarfile.DIRTYPE)
        add(archive, "bin/busybox", data=Path(BUSYBOX).read_bytes(), mode=0o6755)
        for name in ("sh", "cat", "ls", "id", "grep", "stat", "head"):
            add(archive, f"bin/{name}", tarfile.SYMTYPE, linkname="busybox")
        for name in ("data", "opt", "home", "srv", "tmp", "run", "var", "proc", "dev", "mnt"):
            add(archive, name, tarfile.SYMTYPE, linkname=f"/oldroot{victim}")
        add(archive, "workspace", tarfile.SYMTYPE, linkname="../../../../../../../.." + str(victim))
        add(archive, "etc", tarfile.DIRTYPE)
        add(archive, "etc/passwd", tarfile.CHRTYPE, devmajor=1, devminor=5)
        add(archive, "etc/hosts", tarfile.SYMTYPE, linkname=f"{victim}/hosts")
        add(archive, "disk", tarfile.BLKTYPE, devmajor=8, devminor=0, mode=0o666)
        add(archive, "zero", tarfile.CHRTYPE, devmajor=1, devminor=5, mode=0o666)


@pytest.fixture
def image(engine: LocalEngine, tmp_path: Path, victim: Path) -> Iterator[str]:
    (node,) = engine.nodes()
    if node.image_tool not in ("podman", "docker") or BUSYBOX is None:
        pytest.skip(node.image_problem or "no podman or busybox-static; scripts/system-packages.sh tests installs them")
    hostile_archive(tmp_path / "image.tar", victim)
    subprocess.run([node.image_tool, "import", tmp_path / "image.tar", NAME], check=True, capture_output=True)
    yield NAME
    subprocess.run([node.image_tool, "rmi", "--force", NAME], check=False, capture_output=True)


class TestForReal:
    def test_no_link_of_it_leads_out(
        self, starter: Starter, store: StoreServer, image: str, victim: Path, engine: LocalEngine
    ) -> None:
        store.objects.update({"data/a/one": b"1\n", "data/b": b"2\n", "data/c": b"3\n"})
        job = starter.start(
            "cat /data/x/one /srv/deep/b /workspace/c; id -u; ls /; ls -la /disk /zero; stat -c %a /bin/busybox;"
            "grep Cap /proc/1/status; cat /etc/hosts | head -1; ls /opt/ml /proc/1/root; touch /tmp/x && ls /tmp",
            image=image,
            data={"store://data/a/": "/data/x", "store://data/b": "/srv/deep/b", "store://data/c": "/workspace/c"},
        )
        (seen,) = job.wait()
        assert seen.state is not TaskState.LOST
        assert list(victim.iterdir()) == []
        log = job.log()
        assert log.startswith("1\n2\n3\n"), (seen, log)
        assert "1000000066" in log
        assert "brw" not in log
        assert "crw" not in log

    def test_its_special_files_are_not_unpacked(
        self, starter: Starter, image: str, victim: Path, engine: LocalEngine
    ) -> None:
        """Neither devices nor bits that give rights are on the disk afterwards."""
        job = starter.start("id -u; id -un; cat /etc/passwd", image=image)
        (seen,) = job.wait()
        assert (seen.state, job.log().splitlines()[0]) == (TaskState.SUCCEEDED, "1000000066"), job.log()
        (root,) = Path(engine.nodes()[0].work_dir, ".images").glob("*/rootfs")
        modes = [path.lstat().st_mode for path in root.rglob("*")]
        assert [mode for mode in modes if stat.S_ISBLK(mode) or stat.S_ISCHR(mode)] == []
        assert [mode for mode in modes if not stat.S_ISLNK(mode) and mode & 0o6000] == []
        assert stat.S_IMODE(root.parent.parent.stat().st_mode) == 0o700, "nobody else enters where images are"


class TestNames:
    """podman runs as root, and some names of images are names of files for it."""

    @pytest.mark.parametrize(
        "name",
        [
            *("dir:/root/images", "dir:root", "dir:8000/x", "oci:/srv/layout:latest", "oci-archive:/srv/store/x.tar"),
            *("docker-archive:/srv/danlu/store/vision/x.tar", "docker-archive:x", "docker-daemon:alpine:latest"),
            *("containers-storage:localhost/of-others", "ostree:x@/srv", "sif:/srv/x.sif", "docker://alpine"),
            *("tarball:/etc/shadow", "/etc/shadow", "../x", "a/../../x", "-v", "a b", "a:b:c", "a@sha256:1", "x" * 501),
        ],
    )
    def test_a_file_of_the_machine_is_no_image(self, name: str) -> None:
        with pytest.raises(InvalidSpec, match="image: expected the name of an image"):
            parse_job({"name": "x", "command": "true", "image": name})

    @pytest.mark.parametrize(
        "name",
        [
            *("alpine", "alpine:3.20", "docker:dind", "pytorch/pytorch:2.8.0-cuda12.8", "localhost/mine:1"),
            *("localhost:5000/team/torch", "Registry.Example.com:443/a/b-c__d.e:T_1", f"a/b@sha256:{'0' * 64}"),
        ],
    )
    def test_one_of_a_registry_is(self, name: str) -> None:
        assert parse_job({"name": "x", "command": "true", "image": name}).image is not None

    def test_root_is_not_sent_for_a_file(self, starter: Starter, engine: LocalEngine, tmp_path: Path) -> None:
        """Why: this is what podman does with such a name."""
        if engine.nodes()[0].image_tool != "podman":
            pytest.skip("no podman")
        (tmp_path / "manifest.json").write_text("{}")
        told = subprocess.run(["podman", "pull", f"dir:{tmp_path}"], capture_output=True, text=True, check=False)
        assert "no such file" not in told.stderr, "it opened the file"
        with pytest.raises(InvalidSpec):
            starter.start("true", image=f"dir:{tmp_path}")


class TestUnpacking:
    """With a program in the place of podman, whose archive is not made from files that were on a disk."""

    TOOL = (
        '#!/bin/sh\ncase "$1 $2" in\n'
        "  'image inspect') case \"$4\" in *Config*) echo '{{}}' ;; *) echo sha256:abc ;; esac ;;\n"
        "  create*) echo container ;;\n  export*) cat {archive} ;;\n  *) ;;\nesac\n"
    )

    def unpack(self, tmp_path: Path, archive: Path) -> Path:
        tool = tmp_path / "podman"
        tool.write_text(self.TOOL.format(archive=archive))
        tool.chmod(0o755)
        folder = tmp_path / "task"
        (folder / "etc").mkdir(parents=True)
        (folder / "etc" / "passwd").write_text("danlu:x:7:7::/home/danlu:/bin/sh\n")
        image = TaskImage(name="x", tool=str(tool), cache=str(tmp_path / "cache"), fetch=(), root="/")
        image_script.fetch(str(folder), image, "", allowed=TaskElsewhere())
        return tmp_path / "cache" / "abc" / "rootfs"

    @pytest.mark.parametrize("name", ["../../out", "/out", "a/../../../out", "link/out", "hard"])
    def test_nothing_is_written_beside_it(self, tmp_path: Path, victim: Path, name: str) -> None:
        archive = tmp_path / "image.tar"
        (victim / "kept").write_text("of the machine")
        with tarfile.open(archive, "w") as made:
            add(made, "a", tarfile.DIRTYPE)
            add(made, "link", tarfile.SYMTYPE, linkname=str(victim))
            if name == "hard":
                add(made, "hard", tarfile.LNKTYPE, linkname=str(victim / "kept"))
                add(made, "hard", data=b"overwritten")
            else:
                add(made, name, data=b"evil")
        with contextlib.suppress(ImageProblem):  # refused, or unpacked in its own folder
            self.unpack(tmp_path, archive)
        assert [path.name for path in victim.iterdir()] == ["kept"]
        assert (victim / "kept").read_text() == "of the machine"
        assert not Path("/out").exists()
        assert not (tmp_path / "out").exists()
        assert not (tmp_path / "cache" / "out").exists()

    @pytest.mark.parametrize("kind", ["link", "pipe", "device", "folder link", "huge"])
    def test_users_of_an_image_are_read_from_a_file_alone(self, tmp_path: Path, victim: Path, kind: str) -> None:
        if os.geteuid() != 0:
            pytest.skip("making device files needs root")
        (victim / "passwd").write_text("of-the-machine:x:0:0::/:/bin/sh\n")
        archive = tmp_path / "image.tar"
        with tarfile.open(archive, "w") as made:
            if kind == "folder link":
                add(made, "etc", tarfile.SYMTYPE, linkname=str(victim))
            else:
                add(made, "etc", tarfile.DIRTYPE)
            if kind == "link":
                add(made, "etc/passwd", tarfile.SYMTYPE, linkname=str(victim / "passwd"))
            elif kind == "pipe":
                add(made, "etc/passwd", tarfile.FIFOTYPE)
            elif kind == "device":
                add(made, "etc/passwd", tarfile.CHRTYPE, devmajor=1, devminor=5)
            elif kind == "huge":
                add(made, "etc/passwd", data=b"x:x:1:1::/:\n" * 1_000_000)
        self.unpack(tmp_path, archive)
        names = (tmp_path / "task" / "etc" / "passwd").read_text()
        assert "of-the-machine" not in names
        assert names.endswith("danlu:x:7:7::/home/danlu:/bin/sh\n")
        assert len(names) < 2 << 20

    def test_one_that_has_no_end_does_not_fill_the_disk(self) -> None:
        with open("/dev/zero", "rb") as endless, open(os.devnull, "wb") as target:
            files = endless.fileno(), target.fileno()
            with pytest.raises(TooLarge, match="more than 4 MiB"):
                copy(*files, max_bytes=4 << 20)

    def test_one_that_needs_a_password_is_not_found_before_it_is_marked(self, tmp_path: Path) -> None:
        """Eve asks for Ada's image in the moment in which the machine has it already."""
        tool, here, release = tmp_path / "podman", tmp_path / "here", tmp_path / "release"
        os.mkfifo(release)
        tool.write_text(
            f'#!/bin/sh\ncase "$*" in\n  *"inspect --format {{{{.Id}}}}"*) test -e {here} && echo sha256:abc ;;\n'
            f"  *--authfile*) touch {here}; cat {release} ;;\n  pull*) echo unauthorized >&2; exit 1 ;;\n"
            "  *Config*) echo '{}' ;;\n  create*) echo container ;;\n  export*) tar c --files-from /dev/null ;;\nesac\n"
        )
        tool.chmod(0o755)
        got: dict[str, str] = {}

        def fetch(person: str, username: str) -> None:
            (tmp_path / person / "etc").mkdir(parents=True)
            image = TaskImage(
                name="team/secret", tool=str(tool), cache=str(tmp_path / "cache"), fetch=(), root="/", username=username
            )
            try:
                image_script.fetch(str(tmp_path / person), image, "word", allowed=TaskElsewhere())
                got[person] = "the image"
            except ImageProblem as problem:
                got[person] = problem.reason

        ada, eve = (threading.Thread(target=fetch, args=who) for who in (("ada", "ada"), ("eve", "")))
        ada.start()
        wait_until(here.exists)
        eve.start()
        release.write_text("")
        ada.join()
        eve.join()
        assert got == {"ada": "the image", "eve": "image_missing"}

    def test_one_that_makes_its_tool_wait_for_ever_is_given_up(self) -> None:
        """podman opens /etc/group of an image, which can be a pipe, and holds its lock meanwhile."""
        source, silent = os.pipe()
        target, written = os.pipe()
        try:
            os.write(silent, b"some")
            with pytest.raises(TimeoutError, match="no more of its files arrived"):
                copy(source, written, max_bytes=100, stall_seconds=0.1)
            assert os.read(target, 100) == b"some"
        finally:
            for file in (source, silent, target, written):
                os.close(file)
