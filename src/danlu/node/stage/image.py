"""Pull an image to this machine and unpack it, once for all tasks that use it.

    python -I -S image.py FOLDER        the password of the registry, if there is one, on standard input

podman, docker or Danlu itself pulls the image; the task runs in the same sandbox as any other (docs/decisions/0047,
0260). A failure is one JSON object on standard output, as from the stager.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from typing import Optional, Protocol

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.image import cache
from danlu.node.image.registry import Registry
from danlu.node.image.tool import BUILT_IN, ImageProblem, Tool
from danlu.node.image.unpack import NotUnpacked, TooLarge
from danlu.node.supervise.below import parent_below
from danlu.node.supervise.image_root import put_image
from danlu.node.supervise.records import IMAGE
from danlu.node.task import TaskElsewhere, TaskImage, TaskUnreadable, read_task

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LIBRARIES = "LD_LIBRARY_PATH"
MAX_NAMES_BYTES = 1 << 20


class Source(Protocol):
    """Pulls and unpacks images by name."""

    def find(self) -> Optional[str]: ...

    def pull(self) -> None: ...

    def unpack(self, root: str) -> dict[str, str]: ...


def fetch(folder: str, image: TaskImage, password: str, *, allowed: TaskElsewhere) -> None:
    """Make sure that the image is in the cache, and link it in the task's folder."""
    os.makedirs(image.cache, mode=0o700, exist_ok=True)
    source = _source(image, password, allowed)
    number = _find(source, image)
    unpacked = os.path.join(image.cache, number)
    with cache.in_use(unpacked):
        with _alone(f"{unpacked}.lock"):
            if not os.path.isdir(unpacked):
                _unpack(source, unpacked, name=image.name)
            cache.note_use(unpacked)
        _tell(folder, image, unpacked)
        if image.max_bytes:
            cache.clean(image.cache, image.max_bytes)


def _source(image: TaskImage, password: str, allowed: TaskElsewhere) -> Source:
    login = {"username": image.username, "password": password}
    if image.tool == BUILT_IN:
        return Registry(image.name, cache=image.cache, allowed=allowed, **login)
    return Tool((image.tool, *image.tool_options), image.name, env=image.tool_env, **login)


def _tell(folder: str, image: TaskImage, unpacked: str) -> None:
    """Link the image in the task's folder, and record the variables that it sets."""
    root = os.path.join(unpacked, cache.ROOT)
    with open(os.path.join(unpacked, cache.CONFIG)) as file:
        env = {"PATH": PATH, **json.load(file)["env"], **image.variables}
    if image.libraries:
        env[LIBRARIES] = ":".join(filter(None, (env.get(LIBRARIES), *image.libraries)))
    put_image(folder, root)
    _add_names(os.path.join(folder, "etc"), root)
    with open(os.path.join(folder, IMAGE), "w") as file:
        json.dump({"id": os.path.basename(unpacked), "env": env}, file)


def _find(source: Source, image: TaskImage) -> str:
    """Return the id of the image. Pull it if this machine does not have it, or if it is private.

    Holds a lock per name: after a pull with a password, no other task may find the image before it is marked as
    private.
    """
    name = hashlib.sha256(image.name.encode()).hexdigest()
    with _alone(os.path.join(image.cache, f"{name}.name.lock")):
        number = source.find()
        if number is not None and not cache.is_private(image.cache, number):
            return number
        source.pull()
        number = source.find()
        if number is None:
            raise ImageProblem("image_missing", f"{image.name} was fetched, but is missing")
        if image.username:
            cache.mark_private(image.cache, number)
        return number


def _unpack(source: Source, target: str, *, name: str) -> None:
    """Unpack the image into a folder that appears complete or not at all. The caller holds the lock."""
    fresh = f"{target}.new"
    shutil.rmtree(fresh, ignore_errors=True)  # left by a process that was killed
    root = os.path.join(fresh, cache.ROOT)
    os.makedirs(root, mode=0o755)
    try:
        env = source.unpack(root)
        with open(os.path.join(fresh, cache.CONFIG), "w") as file:
            json.dump({"env": env}, file)
        os.rename(fresh, target)
    except (NotUnpacked, TooLarge, TimeoutError) as error:
        is_full = isinstance(error, TooLarge) or "No space left" in str(error)
        reason = "disk_full" if is_full else "image_failed"
        raise ImageProblem(reason, f"{name} cannot be unpacked: {error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _add_names(etc: str, root: str) -> None:
    """Write the image's own users and groups plus the job's, which is the last line of each existing file."""
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
    """Read /etc/passwd or /etc/group of an image, which may be a link or anything else there."""
    path = os.path.join(root, "etc", name)
    with contextlib.suppress(OSError), parent_below(root, path) as (at, last):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(last, flags, dir_fd=at), errors="replace") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read(MAX_NAMES_BYTES)
    return ""


@contextlib.contextmanager
def _alone(path: str) -> Iterator[None]:
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> int:
    (folder,) = sys.argv[1:]
    password = sys.stdin.read()
    try:
        task = read_task(folder)
        if task.image is None:
            raise TaskUnreadable("image: expected an object, got null")
        fetch(folder, task.image, password, allowed=task.elsewhere)
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
