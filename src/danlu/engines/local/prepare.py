"""Prepare the folder of a task: its files, and the description for its shim."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from danlu.engines.base import Credentials
from danlu.engines.local import sandbox
from danlu.engines.local.abilities import Abilities
from danlu.engines.local.drivers import Drivers, find_drivers
from danlu.engines.local.environments import (
    USER,
    base_environment,
    check_environment,
    describe_environment,
    environment_mount,
    write_layer,
)
from danlu.engines.local.folders import TaskFolder
from danlu.engines.local.removal import move_away, trash
from danlu.engines.local.scripts import NODE_SCRIPTS, script_runner
from danlu.engines.settings import EngineSettings
from danlu.errors import InvalidSpec, Unsupported
from danlu.launch import Mount, Plan, TaskPlan
from danlu.launch.layout import Layout
from danlu.launch.targets import check_targets, is_below
from danlu.node.image.tool import PASSED_ON
from danlu.node.probe import memory_bytes
from danlu.node.supervise import image_root
from danlu.node.supervise.api_door import API_URL
from danlu.node.supervise.records import CONTROL, LOG, TOKEN
from danlu.node.supervise.way_out import NAME_SERVER
from danlu.node.task import (
    TASK,
    Task,
    TaskCache,
    TaskElsewhere,
    TaskGate,
    TaskImage,
    TaskInput,
    TaskLease,
    TaskLimits,
    TaskLogCopy,
    TaskOutput,
    TaskUsage,
    to_json,
)

FIRST_UID = 1_000_000_000
"""Uids of jobs start here, far above those of users and services of the machine."""

SHARE_OF_MEMORY = 0.9
"""Share of the machine's memory for a task that sets no limit, so that one task cannot take all of it."""


def check_task(task: TaskPlan, folder: TaskFolder, *, can: Abilities) -> None:
    """Raise Unsupported when this machine cannot run the task as planned."""
    if task.image is not None and not can.image_tool:
        raise Unsupported(f"the image {task.image.name!r} cannot be used on {task.node}: {can.image_problem}")
    check_environment(task, can.software)
    if can.machine is not None:
        check_targets(task)  # the plan may come from another machine or another version
        return
    if task.root != str(folder.ml):
        raise Unsupported(
            f"the plan puts the task's folder at {task.root!r}, and without a sandbox it can only be {str(folder.ml)!r}"
        )
    if task.mounts or task.user:
        raise Unsupported("the job's contract needs paths of its own, and this node has no sandbox to provide them")
    for fetch in task.inputs:
        if not is_below(fetch.to, task.root):
            raise InvalidSpec(
                f"data: {fetch.source} cannot be put at {fetch.to!r}: this node has no sandbox, so inputs go below "
                f"{task.root!r} only; give a relative path, and read DANLU_DATA_DIR in the job"
            )


def prepare_task(
    plan: Plan,
    task: TaskPlan,
    *,
    folder: TaskFolder,
    credentials: Credentials,
    settings: EngineSettings,
    can: Abilities,
) -> None:
    """Write the task's folder. An earlier one, left by an interrupted start, is moved away and never reused."""
    uid = user_uid(credentials.owner_id) if can.has_own_uid else None
    move_away(folder.path, trash(settings.work_dir))
    folder.path.mkdir(mode=0o700, parents=True)
    paths = _Paths(task, folder, can.machine)
    for path in (folder.ml, folder.home, folder.tmp, folder.etc, folder.mounts):
        path.mkdir(mode=0o755)
    for inside in task.folders:
        paths.on_host(inside).mkdir(parents=True, exist_ok=True)
    for inside, text in task.files.items():
        path = paths.on_host(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if text.startswith("#!") else 0o644)
    write_layer(task, folder, software=can.software, has_sandbox=can.machine is not None)
    for mount in task.mounts:
        _make_kept(settings.kept, mount, uid=uid)
    _write_private(paths.on_host(Layout(task.root).token), credentials.token)
    _write_private(folder.path / TOKEN, credentials.token)
    # an image has none of this machine's users
    known = os.geteuid() if uid is None and task.image is not None else uid
    _write_names(plan, task, folder, uid=known, home=paths.home)
    (folder.etc / "resolv.conf").write_text(f"nameserver {NAME_SERVER}\n")
    (folder.path / LOG).touch(mode=0o600)
    os.mkfifo(folder.path / CONTROL, 0o600)
    if uid is not None:
        _give(uid, [folder.ml, folder.home, folder.mounts, folder.path / LOG])
        folder.path.chmod(0o711)  # the stager runs as that user and must pass; the work folder above stays closed
    _make_cache(_input_cache(settings, credentials), uid=uid)
    description = _describe(plan, task, paths=paths, credentials=credentials, settings=settings, can=can, uid=uid)
    _write_private(folder.path / TASK, to_json(description))


def user_uid(owner_id: int | None) -> int:
    """Return the uid for all processes of a user's jobs. It never changes, so that files can outlive a job."""
    return FIRST_UID + (owner_id or 0)


def home_of(task: TaskPlan, machine: sandbox.Machine | None) -> str:
    """Return the home folder of a task in a sandbox; another one when Danlu's Python is installed in `/home/danlu`."""
    home = f"/home/{task.user or USER}"
    is_taken = machine is not None and any(is_below(path, home) for path in machine.shown)
    return f"{home}-job" if is_taken and not task.user else home


def kept_folder(kept: Mapping[str, Path], mount: Mount) -> Path:
    """Return the path of a persistent folder on this machine."""
    if mount.name in ("", ".", "..") or "/" in mount.name:
        raise Unsupported(f"{mount.name!r} cannot be the name of a folder")
    return kept[mount.kind] / mount.name


def _make_kept(kept: Mapping[str, Path], mount: Mount, *, uid: int | None) -> None:
    """A home is private to its owner. In a shared folder everybody may add files and change only their own."""
    path = kept_folder(kept, mount)
    if path.is_dir():
        return
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    if mount.kind == "shared":
        path.chmod(0o1777)
    elif uid is not None:
        os.chown(path, uid, uid)


def _input_cache(settings: EngineSettings, credentials: Credentials) -> TaskCache | None:
    """One cache per user: knowing a digest does not grant access, so tasks never share files across users."""
    if not settings.input_cache_bytes or credentials.owner_id is None:
        return None
    folder = settings.work_dir.absolute() / ".inputs" / str(credentials.owner_id)
    return TaskCache(str(folder), settings.input_cache_bytes)


def _make_cache(cache: TaskCache | None, *, uid: int | None) -> None:
    if cache is None or os.path.isdir(cache.folder):
        return
    os.makedirs(cache.folder, mode=0o700, exist_ok=True)
    if uid is not None:
        os.chown(cache.folder, uid, uid)


class _Paths:
    """Maps paths in the task to paths on the machine.

    An input below the task's folder, its home or another input is a subfolder there and not a mount: never mount into a
    folder where a job or the owner of a home could have left a symlink.
    """

    def __init__(self, task: TaskPlan, folder: TaskFolder, machine: sandbox.Machine | None) -> None:
        self.home = home_of(task, machine)
        self.is_home_kept = any(mount.to == self.home for mount in task.mounts)
        self._places = {task.root: folder.ml}
        if not self.is_home_kept:
            self._places[self.home] = folder.home
        wanted = sorted({*(fetch.to for fetch in task.inputs), *task.files}, key=lambda path: (path.count("/"), path))
        self.mounts: dict[str, Path] = {}
        for target in wanted:
            if self._place_of(target) is None:
                self.mounts[target] = self._places[target] = folder.mounts / str(len(self.mounts))

    def on_host(self, inside: str) -> Path:
        place = self._place_of(inside)
        if place is None:
            raise Unsupported(f"{inside!r} lies outside of the task's folders {', '.join(self._places)}")
        return self._places[place] / os.path.relpath(inside, place)

    def _place_of(self, inside: str) -> str | None:
        return next((place for place in self._places if is_below(inside, place)), None)


def _describe(
    plan: Plan,
    task: TaskPlan,
    *,
    paths: _Paths,
    credentials: Credentials,
    settings: EngineSettings,
    can: Abilities,
    uid: int | None,
) -> Task:
    folder = TaskFolder(paths.on_host(task.root).parent)
    layout = Layout(task.root)
    has_sandbox = can.machine is not None
    if not plan.has_own_network:
        can = replace(can, has_own_network=False, way_out="")
    view = _view(task, folder=folder, paths=paths, settings=settings, can=can) if has_sandbox else None
    python = script_runner(settings)
    return Task(
        name=f"{plan.job_id}-{plan.attempt}-{task.rank}",
        wrap=() if view is None or can.machine is None else tuple(sandbox.wrap(can.machine, view)),
        init=(*python, str(NODE_SCRIPTS / "supervise/init.py")),
        command=task.command,
        spared=task.spared,
        env={
            **base_environment(
                task, folder, settings=settings, software=can.software, home=paths.home if has_sandbox else ""
            ),
            "DANLU_URL": API_URL if can.has_own_network else credentials.server_url,
            **task.env,
        },
        workdir=task.workdir,
        address=task.address if can.has_own_network else "",
        uid=uid,
        image=None if view is None else _image(task, folder, view, settings=settings, can=can),
        environment=describe_environment(task, folder, settings=settings, can=can, view=view, uid=uid),
        gates=tuple(TaskGate(gate.name, gate.reason, str(paths.on_host(gate.passed))) for gate in task.gates),
        log_copy=_log_copy(task, settings.kept),
        stop_file=str(paths.on_host(layout.stop_file)),
        inputs=tuple(TaskInput(fetch.source, str(paths.on_host(fetch.to)), fetch.is_own) for fetch in task.inputs),
        elsewhere=_elsewhere(settings),
        outputs=tuple(TaskOutput(str(paths.on_host(send.path)), send.to, send.while_running) for send in task.outputs),
        runs=str(paths.on_host(layout.runs)),
        server_url=credentials.server_url,
        in_patience_seconds=settings.stage_in_patience_seconds,
        out_patience_seconds=settings.stage_out_patience_seconds,
        cache=_input_cache(settings, credentials),
        grace_seconds=plan.grace_seconds,
        limits=_limits(task, settings),
        filters_calls=can.filters_calls,
        cgroups=can.cgroups,
        lease=TaskLease(str(settings.lease_file), settings.task_lease_seconds) if settings.task_lease_seconds else None,
        usage=_usage(plan, task, settings, can),
    )


def _elsewhere(settings: EngineSettings) -> TaskElsewhere:
    networks = tuple(filter(None, map(str.strip, settings.input_networks.split(","))))
    certificates = settings.input_ca_file
    return TaskElsewhere(networks, settings.max_input_bytes, "" if certificates is None else str(certificates))


def _limits(task: TaskPlan, settings: EngineSettings) -> TaskLimits:
    return TaskLimits(
        memory_bytes=task.memory_bytes or settings.max_memory_bytes or int(memory_bytes() * SHARE_OF_MEMORY),
        cpus=task.cpus,
        max_processes=settings.max_processes,
        max_disk_bytes=settings.max_disk_bytes,
        kept_folders=tuple(dict.fromkeys(str(kept_folder(settings.kept, mount)) for mount in task.mounts)),
        disk_reader=(*script_runner(settings), str(NODE_SCRIPTS / "measure/disk.py")),
    )


def _usage(plan: Plan, task: TaskPlan, settings: EngineSettings, can: Abilities) -> TaskUsage:
    devices = (f"{task.device_type}:{number}" for number in task.device_ids)
    return TaskUsage(
        every_seconds=settings.usage_seconds,
        # tasks of a gang on one node share a network; count its traffic once, for the lowest rank
        counts_network=can.has_own_network
        and task.rank == min(other.rank for other in plan.tasks if other.node == task.node),
        devices=tuple(name for name in devices if name in can.devices),
        device_file=str(settings.work_dir.absolute() / ".device-use.json"),
        device_reader=(*script_runner(settings), str(NODE_SCRIPTS / "measure/device_usage.py")),
    )


def _log_copy(task: TaskPlan, kept: Mapping[str, Path]) -> TaskLogCopy | None:
    """Split the path of the log copy into the folder that Danlu chose and the user's path below, which may have
    symlinks."""
    for mount in task.mounts:
        if task.log_copy and is_below(task.log_copy, mount.to):
            return TaskLogCopy(str(kept_folder(kept, mount)), os.path.relpath(task.log_copy, mount.to))
    return None


def _view(
    task: TaskPlan, *, folder: TaskFolder, paths: _Paths, settings: EngineSettings, can: Abilities
) -> sandbox.View:
    names = ("hosts", *(("passwd", "group") if can.has_own_uid or task.image is not None else ()))
    # /etc/resolv.conf in an image is a plain file, whatever it links to on the machine
    resolver = os.path.realpath("/etc/resolv.conf") if task.image is None else "/etc/resolv.conf"
    return sandbox.View(
        host=task.host,
        root=task.root,
        writable=(
            (str(folder.ml), task.root),
            *(((str(folder.home), paths.home),) if not paths.is_home_kept else ()),
            *((str(kept_folder(settings.kept, mount)), mount.to) for mount in task.mounts),
            *((str(source), target) for target, source in paths.mounts.items()),
        ),
        readable=(
            *((str(folder.etc / name), f"/etc/{name}") for name in names),
            *(((str(folder.etc / "resolv.conf"), resolver),) if can.way_out else ()),
            *environment_mount(task, folder),
        ),
        device_type=task.device_type,
        device_ids=task.device_ids,
        changes_uid=can.has_own_uid,
        image_root="" if task.image is None else str(folder.path / image_root.ROOT),
        drivers=_drivers(task, settings),
    )


def _drivers(task: TaskPlan, settings: EngineSettings) -> Drivers:
    """Only for tasks with an image; others see the machine's own files."""
    if task.image is None:
        return Drivers()
    return find_drivers(task.device_type, task.device_ids, cdi_dirs=settings.cdi_dirs)


def _image(
    task: TaskPlan, folder: TaskFolder, view: sandbox.View, *, settings: EngineSettings, can: Abilities
) -> TaskImage | None:
    """Return what the shim needs to fetch the image, and create the folders of the overlay on top of it."""
    if task.image is None:
        return None
    image_root.make_folders(str(folder.path))
    return TaskImage(
        name=task.image.name,
        username=task.image.username,
        secret=task.image.secret,
        tool=can.image_tool,
        tool_options=can.image_options,
        tool_env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
        cache=str(settings.work_dir.absolute() / ".images"),
        max_bytes=settings.image_bytes,
        libraries=view.drivers.libraries,
        variables=view.drivers.env,
        fetch=(*script_runner(settings), str(NODE_SCRIPTS / "stage/image.py")),
        root=sandbox.IMAGE_ROOT,
        folders=sandbox.IMAGE_FOLDERS,
        laid=sandbox.laid_over_image(view),
    )


def _write_names(plan: Plan, task: TaskPlan, folder: TaskFolder, *, uid: int | None, home: str) -> None:
    """Write /etc/hosts of the gang, and a name for the job's uid (ssh and mpirun fail without one)."""
    hosts = "".join(f"{task.address} {task.host}\n" for task in plan.tasks)
    (folder.etc / "hosts").write_text(f"127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n{hosts}")
    if uid is None:
        return
    user = task.user or USER
    for name, line in (
        ("passwd", f"{user}:x:{uid}:{uid}:Danlu job:{home}:/bin/bash\n"),
        ("group", f"{user}:x:{uid}:\n"),
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
