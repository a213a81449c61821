"""The root folder of a task that has an image: the image's files, and room for what is laid over them.

A read-only overlay of two layers, so that nothing is copied and nothing of one task is seen by another:

    <task>/root   =   <task>/skeleton (empty folders and files where something will be mounted)  over  <task>/image

It is mounted in a mount namespace of the task's own, and goes with its last process.
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
    """Make the skeleton: an empty folder or file at each path of the task that something is laid over.

    What is laid there has to exist by now. The skeleton covers whatever the image has on the way, links included.
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
    """Say which image's files it is."""
    link = os.path.join(folder, IMAGE)
    if os.path.islink(link):
        os.unlink(link)
    os.symlink(root, link)


def hold_image(folder: str) -> Optional[dict[str, str]]:
    """Keep its files from being removed until this process ends, and return the variables that it sets.

    None when they have been removed already.
    """
    if hold(os.path.dirname(os.path.realpath(os.path.join(folder, IMAGE)))) is None:
        return None
    with open(os.path.join(folder, RECORD)) as file:
        env: dict[str, str] = json.load(file)["env"]
    return env


def mount_root(folder: str) -> None:
    """Mount the root folder, seen by this process and its children only. Changes the working directory.

    Who is not root does it in a user namespace (Linux 5.11); the sandbox inside of it has one more.
    """
    if os.geteuid() == 0:
        linux.unshare(linux.CLONE_NEWNS)
    else:
        linux.enter_own_user_namespace(linux.CLONE_NEWNS)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    # names from here: options know no way to write a colon or a comma that a path may hold
    os.chdir(folder)
    linux.mount("overlay", ROOT, kind="overlay", flags=linux.MS_RDONLY, options=f"lowerdir={SKELETON}:{IMAGE}")


def why_not(folder: str) -> Optional[str]:
    """Try it with two empty layers, in a child. Return what went wrong."""
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
