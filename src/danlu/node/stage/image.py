"""Fetches an image to this machine and unpacks it, once for all tasks that use it.

    python -I -S image.py FOLDER        the password of the registry, if there is one, on standard input

docker or podman fetch the image and know how its layers lie over each other; the task itself is run by the same
sandbox as any other (docs/decisions/0047). A failure is one JSON object on standard output, as the stager has it.

    <cache>/<id>/rootfs         its files
    <cache>/<id>/config.json    {"env": {...}}
    <cache>/<id>.private        exists when it was fetched with a password; then every job has to show one that works
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import select
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Optional

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.supervise.below import parent_below
from danlu.node.supervise.image_root import put_image
from danlu.node.supervise.records import IMAGE
from danlu.node.task import TaskImage, TaskUnreadable, read_task

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MAX_NAMES_BYTES = 1 << 20
PIECE_BYTES = 1 << 20
ANSWER_SECONDS, PULL_SECONDS = 300.0, 6 * 3600.0
STALL_SECONDS = 60.0
"""How long an image may give nothing while it is unpacked."""

SHARE_OF_ROOM = 0.9
"""Of what is free on the disk, what one image may take."""

PRIVATE = ".private"
DOCKER_HUB = ("https://index.docker.io/v1/", "docker.io")
_UNKNOWN = ("not found", "manifest unknown", "no such image", "does not exist", "name unknown")
_REFUSED = ("unauthorized", "denied", "authentication required", "incorrect username or password")


class ImageProblem(Exception):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class TooLarge(Exception):
    """More than there is room for."""


def fetch(folder: str, image: TaskImage, password: str) -> None:
    """Have the image's files in the cache, and say in the task's folder where they are."""
    tool = Tool(image.tool, image.name, username=image.username, password=password)
    os.makedirs(image.cache, mode=0o700, exist_ok=True)
    unpacked = os.path.join(image.cache, _find(tool, image))
    number = os.path.basename(unpacked)
    with _alone(f"{unpacked}.lock"):
        if not os.path.isdir(unpacked):
            tool.unpack(unpacked)
    root = os.path.join(unpacked, "rootfs")
    with open(os.path.join(unpacked, "config.json")) as file:
        env = json.load(file)["env"]
    put_image(folder, root)
    _add_names(os.path.join(folder, "etc"), root)
    with open(os.path.join(folder, IMAGE), "w") as file:
        json.dump({"id": number, "env": {"PATH": PATH, **env}}, file)


def _find(tool: Tool, image: TaskImage) -> str:
    """The id of the image, fetched if this machine has not got it or somebody showed a password for it.

    One at a time for each name: between the end of a fetch with a password and the mark that says so, nobody else may
    find the image.
    """
    name = hashlib.sha256(image.name.encode()).hexdigest()
    with _alone(os.path.join(image.cache, f"{name}.name.lock")):
        number = tool.find()
        if number is not None and not _is_private(image.cache, number):
            return number
        tool.pull()
        number = tool.find()
        if number is None:
            raise ImageProblem("image_missing", f"{image.name} was fetched, but is missing")
        if image.username:
            with open(os.path.join(image.cache, f"{number}{PRIVATE}"), "w"):
                pass
        return number


def _is_private(cache: str, number: str) -> bool:
    """The mark in the folder of the image is that of earlier versions."""
    return any(os.path.exists(os.path.join(cache, path)) for path in (f"{number}{PRIVATE}", f"{number}/private"))


class Tool:
    """docker or podman, as far as their command lines are the same."""

    def __init__(self, program: str, name: str, *, username: str, password: str) -> None:
        self._program = program
        self._name = name
        self._username = username
        self._password = password

    def find(self) -> Optional[str]:
        """The id of the image when this machine has it."""
        done = self._run("image", "inspect", "--format", "{{.Id}}", self._name)
        return done.stdout.decode().strip().rpartition(":")[2] if done.returncode == 0 else None

    def pull(self) -> None:
        with self._login() as words:
            done = self._run(*words, self._name, seconds=PULL_SECONDS)
        if done.returncode == 0:
            return
        told = done.stderr.decode(errors="replace").strip().splitlines()
        last = told[-1] if told else f"it ended with {done.returncode}"
        everything = "\n".join(told).lower()
        is_users = any(word in everything for word in (*_UNKNOWN, *_REFUSED))
        problem = f"{self._name} cannot be fetched: {last[:500]}"
        raise ImageProblem("image_missing" if is_users else "image_failed", problem)

    def unpack(self, target: str) -> None:
        """Unpack all layers below `target`, which is there whole or not at all."""
        config = json.loads(self._must("image", "inspect", "--format", "{{json .Config}}", self._name))
        fresh = f"{target}.new"
        shutil.rmtree(fresh, ignore_errors=True)  # of somebody who was killed; we are alone here
        os.mkdir(fresh)
        container = self._must("create", self._name, "/never-started").strip().splitlines()[-1]
        try:
            os.mkdir(os.path.join(fresh, "rootfs"), 0o755)
            self._export(container, os.path.join(fresh, "rootfs"))
            _remove_special_files(os.path.join(fresh, "rootfs"))
            with open(os.path.join(fresh, "config.json"), "w") as file:
                json.dump({"env": dict(line.split("=", 1) for line in config.get("Env") or () if "=" in line)}, file)
            os.chmod(fresh, 0o755)
            os.rename(fresh, target)
        finally:
            self._run("rm", "--force", container)
            shutil.rmtree(fresh, ignore_errors=True)

    def _export(self, container: str, target: str) -> None:
        # tar itself keeps to the folder; devices belong to the machine, not to an image
        words = ["tar", "--extract", "--numeric-owner", "--exclude=./dev/*", "--exclude=dev/*", f"--directory={target}"]
        with (
            subprocess.Popen([self._program, "export", container], stdout=subprocess.PIPE) as export,
            subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as tar,
        ):
            assert export.stdout is not None
            assert tar.stdin is not None
            try:
                copy(export.stdout.fileno(), tar.stdin.fileno(), max_bytes=_room_bytes(target))
            except (TimeoutError, TooLarge) as error:
                export.kill()
                tar.kill()
                reason = "disk_full" if isinstance(error, TooLarge) else "image_failed"
                raise ImageProblem(reason, f"{self._name} cannot be unpacked: {error}") from error
            except BrokenPipeError:
                export.kill()
            told = tar.communicate()[1].decode(errors="replace").strip().splitlines()
        if export.returncode != 0 or tar.returncode != 0:
            is_full = any("No space left" in line for line in told)
            problem = f"{self._name} cannot be unpacked: {told[-1] if told else 'the export was cut short'}"
            raise ImageProblem("disk_full" if is_full else "image_failed", problem)

    @contextlib.contextmanager
    def _login(self) -> Iterator[list[str]]:
        """The words of `pull`, with a file that holds the password as long as it takes."""
        if not self._username:
            yield ["pull"]
            return
        folder = tempfile.mkdtemp(prefix="danlu-login-")
        try:
            told = base64.b64encode(f"{self._username}:{self._password}".encode()).decode()
            path = os.path.join(folder, "config.json")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump({"auths": {name: {"auth": told} for name in _registries(self._name)}}, file)
            is_docker = os.path.basename(self._program) == "docker"
            yield ["--config", folder, "pull"] if is_docker else ["pull", "--authfile", path]
        finally:
            shutil.rmtree(folder)

    def _must(self, *words: str) -> str:
        done = self._run(*words)
        if done.returncode != 0:
            told = done.stderr.decode(errors="replace").strip()
            raise ImageProblem("image_failed", f"{words[0]} of {self._name}: {told[-500:]}")
        return done.stdout.decode()

    def _run(self, *words: str, seconds: float = ANSWER_SECONDS) -> subprocess.CompletedProcess[bytes]:
        argv = [self._program, *words]
        try:
            return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=seconds)
        except subprocess.TimeoutExpired as error:
            told = f"{os.path.basename(self._program)} did not answer within {seconds:.0f} s: {words[0]} {self._name}"
            raise ImageProblem("image_failed", told) from error


def copy(source: int, target: int, *, max_bytes: int, stall_seconds: float = STALL_SECONDS) -> None:
    """Copy until the end. Raise TimeoutError when nothing comes for a while, TooLarge when it is more than this.

    An image can make its tool wait forever: podman reads /etc/group of it, which may be a pipe. And a few bytes in a
    registry can become any number of them on the disk.
    """
    num_bytes = 0
    while True:
        if not select.select([source], [], [], stall_seconds)[0]:
            raise TimeoutError(f"nothing more of its files came within {stall_seconds:.0f} s")
        piece = os.read(source, PIECE_BYTES)
        if not piece:
            return
        num_bytes += len(piece)
        if num_bytes > max_bytes:
            raise TooLarge(f"it has more than {max_bytes / 2**20:.0f} MiB, and that is what there is room for")
        while piece:
            piece = piece[os.write(target, piece) :]


def _room_bytes(folder: str) -> int:
    found = os.statvfs(folder)
    return int(found.f_bavail * found.f_frsize * SHARE_OF_ROOM)


def _registries(name: str) -> tuple[str, ...]:
    """Where a name says that its image is; a name without a host means Docker's own."""
    first = name.partition("/")[0]
    is_host = "/" in name and ("." in first or ":" in first or first == "localhost")
    return (first,) if is_host else DOCKER_HUB


def _add_names(etc: str, root: str) -> None:
    """The image's own users, and the job's, which is the last line of what is there."""
    for name in ("passwd", "group"):
        path = os.path.join(etc, name)
        if not os.path.exists(path):
            continue
        with open(path) as file:
            own = file.read().splitlines()[-1]
        known = _read_name_file(root, name)
        with open(path, "w") as file:
            file.write("\n".join([*known.splitlines(), own, ""]))


def _read_name_file(root: str, name: str) -> str:
    """Read /etc/passwd or /etc/group of an image, which may have anything in its place."""
    path = os.path.join(root, "etc", name)
    with contextlib.suppress(OSError), parent_below(root, path) as (at, last):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(last, flags, dir_fd=at), errors="replace") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read(MAX_NAMES_BYTES)
    return ""


def _remove_special_files(root: str) -> None:
    """Remove device files, and the bits that give a program other rights: a job has no use for either."""
    for _, folders, names, at in os.fwalk(root):
        for name in (*folders, *names):
            found = os.stat(name, dir_fd=at, follow_symlinks=False)
            if stat.S_ISBLK(found.st_mode) or stat.S_ISCHR(found.st_mode):
                os.unlink(name, dir_fd=at)
            elif not stat.S_ISLNK(found.st_mode) and found.st_mode & (stat.S_ISUID | stat.S_ISGID):
                os.chmod(name, stat.S_IMODE(found.st_mode) & ~(stat.S_ISUID | stat.S_ISGID), dir_fd=at)


@contextlib.contextmanager
def _alone(path: str) -> Iterator[None]:
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> int:
    (folder,) = sys.argv[1:]
    password = sys.stdin.read()
    try:
        image = read_task(folder).image
        if image is None:
            raise TaskUnreadable("image: expected an object, got null")
        fetch(folder, image, password)
    except TaskUnreadable as error:
        print(json.dumps({"reason": "image_failed", "message": str(error)}), flush=True)
        return 1
    except ImageProblem as problem:
        print(json.dumps({"reason": problem.reason, "message": str(problem)}), flush=True)
        return 1
    except OSError as error:
        reason = "disk_full" if error.errno == 28 else "image_failed"
        print(json.dumps({"reason": reason, "message": f"the image cannot be unpacked: {error}"}), flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
