"""Lays out the folder of a task: what its command will find, and the description that its shim reads."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import danlu.node
from danlu.engines.base import Credentials
from danlu.engines.local import sandbox
from danlu.engines.local.folders import TaskFolder
from danlu.engines.local.settings import LocalSettings
from danlu.errors import InvalidSpec, Unsupported
from danlu.launch import Plan, TaskPlan
from danlu.launch.layout import Layout
from danlu.node.records import CONTROL, LOG, TASK, TOKEN
from danlu.node.way_out import NAME_SERVER

NODE_SCRIPTS = Path(danlu.node.__file__).parent
USER = "danlu"
FIRST_UID, NUM_UIDS = 1_000_000_000, 100_000_000
"""User ids of jobs: far above what people and systems use."""

PASSED_ON = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "ASCEND_HOME_PATH")


@dataclass(frozen=True)
class Abilities:
    """What the probe found, less what the settings switch off."""

    machine: sandbox.Machine | None
    """None without a sandbox."""

    has_own_network: bool
    has_own_uid: bool
    way_out: str
    """The program that leads out of a network of its own; empty when there is none."""

    cgroups: Mapping[str, str]


def check_task(task: TaskPlan, folder: TaskFolder, *, has_sandbox: bool) -> None:
    """Refuse what this machine cannot do as planned."""
    if has_sandbox:
        return
    if task.root != str(folder.ml):
        raise Unsupported(
            f"the plan puts the task's folder at {task.root!r}, and without a sandbox it can only be {str(folder.ml)!r}"
        )
    for fetch in task.inputs:
        if not _is_below(fetch.to, task.root):
            raise InvalidSpec(
                f"data: {fetch.source} cannot be put at {fetch.to!r}: this node has no sandbox, so inputs go below "
                f"{task.root!r} only; give a relative path, and read DANLU_DATA_DIR in the job"
            )


def prepare_task(
    plan: Plan, task: TaskPlan, *, folder: TaskFolder, credentials: Credentials, settings: LocalSettings, can: Abilities
) -> None:
    """Write the folder. Whatever an interrupted try left there is overwritten."""
    uid = job_uid(plan.job_id) if can.has_own_uid else None
    folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths = _Paths(task, folder)
    for path in (folder.ml, folder.home, folder.tmp, folder.etc):
        path.mkdir(mode=0o755, exist_ok=True)
    for inside in task.folders:
        paths.on_host(inside).mkdir(parents=True, exist_ok=True)
    for inside, text in task.files.items():
        path = paths.on_host(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    folder.mounts.mkdir(exist_ok=True)
    _write_private(paths.on_host(Layout(task.root).token), credentials.token)
    _write_private(folder.path / TOKEN, credentials.token)
    _write_names(plan, folder, uid=uid)
    (folder.etc / "resolv.conf").write_text(f"nameserver {NAME_SERVER}\n")
    (folder.path / LOG).touch(mode=0o600)
    if not (folder.path / CONTROL).exists():
        os.mkfifo(folder.path / CONTROL, 0o600)
    if uid is not None:
        _give(uid, [folder.ml, folder.home, folder.mounts, folder.path / LOG])
        folder.path.chmod(0o711)  # the stager, who becomes that user, must pass; the work folder above is closed
    description = _describe(plan, task, paths=paths, credentials=credentials, settings=settings, can=can, uid=uid)
    _write_private(folder.path / TASK, json.dumps(description))


def job_uid(job_id: str) -> int:
    """The user id of a job's processes: the same for all of its attempts, so that it can read its own files."""
    return FIRST_UID + zlib.crc32(job_id.encode()) % NUM_UIDS


class _Paths:
    """Paths in a task and where they are on the machine."""

    def __init__(self, task: TaskPlan, folder: TaskFolder) -> None:
        self._root = task.root
        self._folder = folder
        outside = [fetch.to for fetch in task.inputs if not _is_below(fetch.to, task.root)]
        self.mounts = {target: folder.mounts / str(number) for number, target in enumerate(outside)}

    def on_host(self, inside: str) -> Path:
        if inside in self.mounts:
            return self.mounts[inside]
        if not _is_below(inside, self._root):
            raise Unsupported(f"{inside!r} lies outside of the task's folder {self._root!r}")
        return self._folder.ml / os.path.relpath(inside, self._root)


def _describe(
    plan: Plan,
    task: TaskPlan,
    *,
    paths: _Paths,
    credentials: Credentials,
    settings: LocalSettings,
    can: Abilities,
    uid: int | None,
) -> dict[str, object]:
    folder = TaskFolder(paths.on_host(task.root).parent)
    has_sandbox = can.machine is not None
    python = [os.path.realpath(settings.python), "-I", "-S"]
    layout = Layout(task.root)
    return {
        "name": f"{plan.job_id}-{plan.attempt}-{task.rank}",
        "wrap": _wrap(task, folder=folder, paths=paths, can=can),
        "init": [*python, sandbox.INIT_PATH if has_sandbox else str(NODE_SCRIPTS / "init.py")],
        "stager": [*python, str(NODE_SCRIPTS / "stager.py")],
        "command": task.command,
        "env": {**_base_environment(folder, settings, has_sandbox=has_sandbox), **task.env},
        "workdir": task.workdir,
        "uid": uid,
        "gid": uid,
        "setup_done": str(paths.on_host(layout.setup_done)) if task.has_setup else None,
        "inputs": [{"source": fetch.source, "to": str(paths.on_host(fetch.to))} for fetch in task.inputs],
        "outputs": [
            {"path": str(paths.on_host(send.path)), "to": send.to, "while_running": send.while_running}
            for send in task.outputs
        ],
        "runs": str(paths.on_host(layout.runs)),
        "server_url": credentials.server_url,
        "in_patience_seconds": settings.stage_in_patience_seconds,
        "out_patience_seconds": settings.stage_out_patience_seconds,
        "grace_seconds": plan.grace_seconds,
        "memory_bytes": task.memory_bytes,
        "cpus": task.cpus,
        "cgroups": dict(can.cgroups),
    }


def _wrap(task: TaskPlan, *, folder: TaskFolder, paths: _Paths, can: Abilities) -> list[str]:
    if can.machine is None:
        return []
    names = ("hosts", *(("passwd", "group") if can.has_own_uid else ()))
    resolver = os.path.realpath("/etc/resolv.conf")
    return sandbox.wrap(
        can.machine,
        sandbox.View(
            host=task.host,
            writable=(
                (str(folder.ml), task.root),
                (str(folder.home), sandbox.HOME),
                *((str(source), target) for target, source in paths.mounts.items()),
            ),
            readable=(
                *((str(folder.etc / name), f"/etc/{name}") for name in names),
                *(((str(folder.etc / "resolv.conf"), resolver),) if can.way_out else ()),
            ),
            device_type=task.device_type,
            device_ids=task.device_ids,
            changes_uid=can.has_own_uid,
        ),
    )


def _base_environment(folder: TaskFolder, settings: LocalSettings, *, has_sandbox: bool) -> dict[str, str]:
    """Variables of every job, below those of its plan. Of the server's own only those named here are passed on."""
    passed_on = {name: os.environ[name] for name in (*PASSED_ON, *settings.pass_env) if name in os.environ}
    own_bin = str(settings.python.parent)
    return {
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PYTHONUNBUFFERED": "1",  # a log that is a file would otherwise arrive in blocks
        **passed_on,
        "PATH": f"{own_bin}:{os.environ.get('PATH', '/usr/local/bin:/usr/bin:/bin')}",
        "HOME": sandbox.HOME if has_sandbox else str(folder.home),
        "TMPDIR": "/tmp" if has_sandbox else str(folder.tmp),
        "USER": USER,
        "LOGNAME": USER,
        "SHELL": "/bin/bash",
    }


def _write_names(plan: Plan, folder: TaskFolder, *, uid: int | None) -> None:
    """Host names of the gang, and a name for the job's user id (ssh and mpirun refuse to run without one)."""
    hosts = "".join(f"{task.address} {task.host}\n" for task in plan.tasks)
    (folder.etc / "hosts").write_text(f"127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n{hosts}")
    if uid is None:
        return
    for name, line in (
        ("passwd", f"{USER}:x:{uid}:{uid}:Danlu job:{sandbox.HOME}:/bin/bash\n"),
        ("group", f"{USER}:x:{uid}:\n"),
    ):
        (folder.etc / name).write_text(Path("/etc", name).read_text().rstrip("\n") + "\n" + line)


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


def _give(uid: int, paths: list[Path]) -> None:
    for path in paths:
        for parent, folders, files in os.walk(path):
            for name in (*folders, *files):
                os.lchown(os.path.join(parent, name), uid, uid)
        if path.exists():
            os.lchown(path, uid, uid)


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")
