"""Find the environment of a task by its key, which is made from its content.

Runs at every start of a task with requirements, so it imports little and starts no program.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import NoReturn

from danlu.node.environment import kept
from danlu.node.environment.collect import LOCK, PYPROJECT, BadRequirements, collect, load_toml
from danlu.node.supervise.records import ENVIRONMENT
from danlu.node.task import Task, TaskEnvironment

REQUIREMENTS = "requirements"
FORMAT = 2
"""Increase when environments of the same requirements would differ from earlier ones."""


class EnvironmentProblem(Exception):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def find_environment(folder: str, task: Task, *, variables: Mapping[str, str]) -> bool:
    """If the node has the environment, link it in the task's folder and return True."""
    try:
        _, path = wanted_environment(folder, task, variables)
    except EnvironmentProblem:
        return False  # the step that builds it reports the problem
    if not os.path.exists(f"{path}{kept.RECORD}"):
        return False
    put_environment(folder, path)
    return True


def wanted_environment(folder: str, task: Task, variables: Mapping[str, str]) -> tuple[str, str]:
    """Return the file to install from, and the path that the environment has or will have."""
    wanted = task.environment
    assert wanted is not None
    name = _collect(folder, task, wanted)
    if os.path.basename(name) == LOCK and not wanted.uv:
        raise EnvironmentProblem(
            "environment_failed", "uv.lock needs uv on the node; install it there, or send requirements.txt (uv export)"
        )
    key = _key(os.path.join(folder, REQUIREMENTS), name, wanted, variables)
    return name, os.path.join(wanted.folder, key)


def put_environment(folder: str, path: str) -> None:
    """Link the environment in the task's folder."""
    link = os.path.join(folder, ENVIRONMENT)
    if os.path.islink(link):
        os.unlink(link)
    os.symlink(path, link)


def _collect(folder: str, task: Task, wanted: TaskEnvironment) -> str:
    """Copy the files of the requirements, in a child that runs as the job's user."""
    said, say = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(said)
        _collect_as_user(folder, task, wanted, say)
    os.close(say)
    with os.fdopen(said) as file:
        told = file.read()
    os.waitpid(child, 0)
    kind, _, text = told.partition("\n")
    if kind == "name":
        return text
    raise EnvironmentProblem("environment_failed", f"the requirements cannot be used: {text or 'they cannot be read'}")


def _collect_as_user(folder: str, task: Task, wanted: TaskEnvironment, say: int) -> NoReturn:
    try:
        if wanted.file.endswith((PYPROJECT, LOCK)):
            load_toml()  # import it while this process may still read its file
        os.chdir(folder)  # the job's user may have no access to the folders above it
        os.umask(0o022)
        if task.uid is not None and os.geteuid() == 0:
            os.setgroups([])
            os.setgid(task.uid)
            os.setuid(task.uid)
        code = os.path.relpath(wanted.code, folder)
        told = f"name\n{collect(code, REQUIREMENTS, file=wanted.file, packages=wanted.packages)}"
    except (BadRequirements, OSError) as error:
        told = f"problem\n{error}"
    except Exception as error:  # this forked process must not continue as the parent
        told = f"problem\n{type(error).__name__}: {error}"
    os.write(say, told.encode("utf-8", "backslashreplace")[:4096])
    os._exit(0)


def _key(inputs: str, name: str, wanted: TaskEnvironment, variables: Mapping[str, str]) -> str:
    """The key of an environment: a digest of everything that a build sees."""
    files = {}
    for parent, _, names in os.walk(inputs):
        for one in names:
            path = os.path.join(parent, one)
            files[os.path.relpath(path, inputs)] = _sha256(path)
    real = os.path.realpath(wanted.python)
    seen = os.stat(real)
    told = {
        "format": FORMAT,
        "files": files,
        "name": name,
        "python": [real, seen.st_size, seen.st_mtime_ns, wanted.version],
        "platform": [os.uname().machine, _libc()],
        "tool": "uv" if wanted.uv else "pip",
        "base": wanted.base,
        "variables": dict(variables),
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:40]


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _libc() -> str:
    """Name and version of the C library; empty when unknown."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""
