"""The root folder of a task with an image: the image's files, and mount points for everything else.

It is a read-only overlay of two layers, so that nothing is copied and tasks do not see each other's files:

    <task>/root   =   <task>/skeleton (empty folders and files as mount points)  over  <task>/image

It is mounted in the task's own mount namespace, and disappears with its last process.
"""

from __future__ import annotations

import json
import os
import stat
from typing import Optional

from danlu.node.environment.kept import hold
from danlu.node.supervise import linux
from danlu.node.supervise.records import IMAGE as RECORD
from danlu.node.task import TaskImage

ROOT, SKELETON, IMAGE = "root", "skeleton", "image"


def make_folders(folder: str) -> None:
    for name in (ROOT, SKELETON):
        os.mkdir(os.path.join(folder, name), 0o755)


def lay_out(folder: str, image: TaskImage) -> None:
    """Create the skeleton: an empty folder or file for each path at which something is mounted.

    The sources must exist. The skeleton covers what the image has on the way, including symlinks.
    """
    for path in image.folders:
        os.makedirs(_in_skeleton(folder, path), mode=0o755, exist_ok=True)
    for path, source in image.laid.items():
        inside = _in_skeleton(folder, path)
        if stat.S_ISDIR(os.lstat(source).st_mode):
            os.makedirs(inside, mode=0o755, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(inside), mode=0o755, exist_ok=True)
        with open(inside, "a"):
            pass


def _in_skeleton(folder: str, path: str) -> str:
    return os.path.join(folder, SKELETON, path.lstrip("/"))


def put_image(folder: str, root: str) -> None:
    """Link the task's image to its unpacked files."""
    link = os.path.join(folder, IMAGE)
    if os.path.islink(link):
        os.unlink(link)
    os.symlink(root, link)


def hold_image(folder: str) -> Optional[dict[str, str]]:
    """Keep the image from being removed until this process ends, and return the variables that it sets.

    None when it has been removed already.
    """
    if hold(os.path.dirname(os.path.realpath(os.path.join(folder, IMAGE)))) is None:
        return None
    with open(os.path.join(folder, RECORD)) as file:
        env: dict[str, str] = json.load(file)["env"]
    return env


def mount_root(folder: str) -> None:
    """Mount the root folder for this process and its children only. Changes the working directory.

    A process that is not root uses a user namespace (needs Linux 5.11); the sandbox inside adds another.
    """
    if os.geteuid() == 0:
        linux.unshare(linux.CLONE_NEWNS)
    else:
        linux.enter_own_user_namespace(linux.CLONE_NEWNS)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    # relative paths: mount options cannot escape colons and commas in an absolute one
    os.chdir(folder)
    linux.mount("overlay", ROOT, kind="overlay", flags=linux.MS_RDONLY, options=f"lowerdir={SKELETON}:{IMAGE}")


def why_not(folder: str) -> Optional[str]:
    """Try to mount an overlay of empty layers, in a child. Return the error; None when it works."""
    for name in (ROOT, SKELETON, IMAGE):
        os.mkdir(os.path.join(folder, name))
    said, say = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            mount_root(folder)
        except OSError as error:
            os.write(say, str(error).encode()[:1000])
        finally:
            os._exit(0)
    os.close(say)
    with os.fdopen(said, "rb") as file:
        problem = file.read().decode(errors="replace")
    os.waitpid(child, 0)
    return problem or None
