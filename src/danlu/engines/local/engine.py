"""The local engine: tasks on this machine. All of its state is in their folders."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NamedTuple

from danlu.engines.base import (
    Channel,
    Credentials,
    Engine,
    EngineSettings,
    Handle,
    LogMark,
    NodeInfo,
    Observation,
    TerminalSize,
    UsagePiece,
)
from danlu.engines.local import sandbox
from danlu.engines.local.abilities import Abilities
from danlu.engines.local.channel import LocalChannel
from danlu.engines.local.connect import connect
from danlu.engines.local.folders import GangFolder, TaskFolder
from danlu.engines.local.forking import START_SECONDS, ForkServer
from danlu.engines.local.forwarding import forwarder_command
from danlu.engines.local.observe import Observer, read_log, read_marks
from danlu.engines.local.prepare import check_task, prepare_task
from danlu.engines.local.removal import empty, move_away, trash
from danlu.engines.local.scripts import NODE_SCRIPTS
from danlu.engines.local.software import Software, find_software
from danlu.errors import DanluError, EngineUnavailable, StorageFull, WrongState
from danlu.launch import Plan, TaskPlan
from danlu.launch.targets import is_below
from danlu.node import probe
from danlu.node.environment.kept import list_kept
from danlu.node.measure.usage_file import read_usage
from danlu.node.supervise.api_door import API_ADDRESS
from danlu.node.supervise.records import CONTROL, EXIT, LOCK, LOG, STATUS, is_locked, take_lock
from danlu.node.supervise.way_out import own_addresses, write_closed
from danlu.node.task import Gang, Overlay
from danlu.spec.devices import Device
from danlu.spec.nodes import EnvironmentInfo

MIN_TASKS, TASKS_PER_CORE = 16, 4
PROBE_SECONDS = 180
"""Time limit of the probe: usually a tenth of a second, but much longer on a busy machine."""


class LocalEngine(Engine):
    name: ClassVar[str] = "local"

    @classmethod
    def create(cls, settings: EngineSettings) -> LocalEngine:
        return cls(settings)

    def __init__(self, settings: EngineSettings) -> None:
        """Probe the machine (about 0.1 s) and create the work folder."""
        self.settings = settings
        self._work_dir = settings.work_dir.absolute()
        self._work_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in settings.kept.values():
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        empty(trash(self._work_dir))
        self._observer = Observer(self._work_dir)
        self._forks = ForkServer(settings.python)
        found = _probe(settings)
        software = find_software(settings.python, settings.pythons)
        software = software if settings.uv else replace(software, uv="")
        self._can = _abilities(settings, found, software)
        self._node = _node_info(settings, found, self._can, software).model_copy(update={"engine": self.name})
        self._closing = Lock()
        if not settings.closed_file.exists():  # keep what was closed before a restart
            self.keep_away_from(())

    def nodes(self) -> Sequence[NodeInfo]:
        kept = list_kept(str(self.settings.environments_dir))
        if not kept:
            return [self._node]
        found = tuple(EnvironmentInfo(**one._asdict()) for one in kept)
        return [self._node.model_copy(update={"environments": found})]

    def start(self, plan: Plan, credentials: Credentials) -> Sequence[Handle]:
        return self.start_here(plan, plan.tasks, credentials=credentials)

    def keep_away_from(self, addresses: Sequence[str]) -> None:
        """Also closes addresses that this machine got after the tasks started."""
        with self._closing:
            write_closed(str(self.settings.closed_file), {*addresses, *own_addresses()})

    def start_here(
        self, plan: Plan, tasks: Sequence[TaskPlan], *, credentials: Credentials, overlay: Overlay | None = None
    ) -> Sequence[Handle]:
        """Start the tasks of an attempt whose node is this machine.

        `overlay`: connects them to the gang's tasks on other nodes; None when the whole gang is here.
        """
        gang = GangFolder.of(self._work_dir, plan.job_id, attempt=plan.attempt)
        for task in tasks:
            check_task(task, gang.task(task.rank), can=self._can)
        gang.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        start_lock = take_lock(str(gang.start_lock), wait_seconds=START_SECONDS)
        if start_lock is None:
            raise EngineUnavailable(f"{plan.job_id} is being started by another process; try again")
        try:
            missing = [task for task in tasks if not _has_begun(gang.task(task.rank))]
            if missing:
                part = _Part(missing, gang, overlay, start_lock)
                self._start_part(plan, part, credentials)
        finally:
            os.close(start_lock)
        return [Handle(job_id=plan.job_id, attempt=plan.attempt, rank=task.rank, node=task.node) for task in tasks]

    def poll(self, handles: Sequence[Handle]) -> Sequence[Observation | None]:
        return [self._observer.observe(handle) for handle in handles]

    def read_log(self, handle: Handle, offset: int, limit: int) -> bytes:
        return read_log(TaskFolder.of(self._work_dir, handle), offset=offset, limit=limit)

    def log_file(self, handle: Handle) -> Path:
        """Return the path of a task's log, which may not exist yet."""
        return TaskFolder.of(self._work_dir, handle).path / LOG

    def read_marks(self, handle: Handle, offset: int) -> Sequence[LogMark]:
        return read_marks(TaskFolder.of(self._work_dir, handle), offset)

    def read_usage(self, handle: Handle, generation: int, offset: int) -> UsagePiece | None:
        found = read_usage(str(TaskFolder.of(self._work_dir, handle).path), generation, offset)
        return None if found is None else UsagePiece(*found)

    def stop(self, handles: Sequence[Handle], grace_seconds: float) -> None:
        for handle in handles:
            _tell(TaskFolder.of(self._work_dir, handle), f"stop {grace_seconds:.3f}\n")

    def open_channel(
        self, handle: Handle, command: Sequence[str], terminal: TerminalSize | None, *, apart: bool = False
    ) -> Channel:
        return LocalChannel.open(TaskFolder.of(self._work_dir, handle), command, terminal=terminal, apart=apart)

    def connect(self, handle: Handle, port: int) -> socket.socket:
        return connect(TaskFolder.of(self._work_dir, handle), port)

    def forget(self, job_id: str, attempt: int) -> None:
        gang = GangFolder.of(self._work_dir, job_id, attempt=attempt)
        if any(_is_alive(task) for task in gang.tasks()):
            raise WrongState(f"attempt {attempt} of {job_id} still runs; stop it first")
        self._observer.forget(job_id, attempt)
        self._remove(gang.path)
        with contextlib.suppress(OSError):  # other attempts exist, or there is nothing
            gang.path.parent.rmdir()

    def leftovers(self) -> Sequence[tuple[str, int]]:
        return [(path.parent.name, int(path.name)) for path in self._work_dir.glob("*/*") if path.name.isdigit()]

    def _start_part(self, plan: Plan, part: _Part, credentials: Credentials) -> None:
        self._observer.forget(plan.job_id, plan.attempt)
        try:
            for task in part.tasks:
                prepare_task(
                    plan,
                    task,
                    folder=part.gang.task(task.rank),
                    credentials=credentials,
                    settings=self.settings,
                    can=self._can,
                )
            self._start_shims(self._describe(plan, part, credentials), lock=part.start_lock)
        except (OSError, DanluError) as error:
            self._undo(part.gang, [task.rank for task in part.tasks])
            if isinstance(error, DanluError):
                raise
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StorageFull(f"no room to start {plan.job_id} in {part.gang.path}: {error.strerror}") from error
            raise EngineUnavailable(f"{plan.job_id} could not be started: {error}") from error

    def _describe(self, plan: Plan, part: _Part, credentials: Credentials) -> Gang:
        folders = tuple(str(part.gang.task(task.rank).path) for task in part.tasks)
        if not (self._can.has_own_network and plan.has_own_network):
            return Gang(folders=folders, secrets=credentials.secrets, addresses=(), way_out="")
        here = tuple(sorted({task.address for task in plan.tasks if task.node == part.tasks[0].node}))
        overlay = part.overlay
        return Gang(
            folders=folders,
            secrets=credentials.secrets,
            addresses=(*(here if overlay is None else ()), API_ADDRESS),
            way_out=self._can.way_out,
            forwarder=forwarder_command(self.settings, credentials),
            overlay=overlay,
            overlay_addresses=here if overlay is not None else (),
            closed_file=str(self.settings.closed_file),
        )

    def _start_shims(self, gang: Gang, *, lock: int) -> None:
        problem = self._forks.start(gang, lock)
        if os.strerror(errno.ENOSPC) in problem:
            raise StorageFull(problem)
        if problem:
            raise EngineUnavailable(f"tasks could not be started: {problem}")

    def _undo(self, gang: GangFolder, ranks: Sequence[int]) -> None:
        for rank in ranks:
            folder = gang.task(rank)
            _tell(folder, "stop 0\n")
            lock = take_lock(str(folder.path / LOCK), wait_seconds=10.0) if folder.path.is_dir() else None
            if lock is not None:
                os.close(lock)
            self._remove(folder.path)

    def _remove(self, path: Path) -> None:
        move_away(path, trash(self._work_dir))
        empty(trash(self._work_dir))


class _Part(NamedTuple):
    """The tasks of an attempt to start now on this machine."""

    tasks: Sequence[TaskPlan]
    gang: GangFolder
    overlay: Overlay | None
    start_lock: int


def _has_begun(folder: TaskFolder) -> bool:
    return (folder.path / STATUS).exists()


def _is_alive(folder: TaskFolder) -> bool:
    """Whether a shim still has work to do. Once it has written its exit record, it is about to end."""
    return is_locked(str(folder.path / LOCK)) and not (folder.path / EXIT).exists()


def _tell(folder: TaskFolder, order: str) -> None:
    """Write to the shim's control pipe. Does nothing when the pipe has no reader: the task has ended."""
    try:
        pipe = os.open(folder.path / CONTROL, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENOENT, errno.ENOTDIR):
            return
        raise
    try:
        os.write(pipe, order.encode())
    except BrokenPipeError:
        pass  # the shim has just ended
    except BlockingIOError:
        pass  # full of unread orders; one of them is enough
    finally:
        os.close(pipe)


def _probe(settings: EngineSettings) -> dict[str, Any]:
    argv = [
        os.path.realpath(settings.python),
        "-I",
        "-S",
        str(NODE_SCRIPTS / "probe.py"),
        f"danlu-{settings.server_id}",
    ]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise EngineUnavailable(f"cannot try out this machine: no answer within {PROBE_SECONDS} s") from None
    if done.returncode != 0:
        problem = done.stderr.decode(errors="replace").strip().splitlines()
        raise EngineUnavailable(f"cannot try out this machine: {problem[-1] if problem else done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _abilities(settings: EngineSettings, found: dict[str, Any], software: Software) -> Abilities:
    has_sandbox = settings.sandbox and not found["sandbox_problem"]
    has_own_network = has_sandbox and settings.own_network and not found["network_problem"]
    has_way_out = has_own_network and settings.way_out and not found["way_out_problem"]
    has_own_uid = has_sandbox and settings.own_uid and os.geteuid() == 0
    machine = _machine(settings, found["bwrap"], software) if has_sandbox else None
    return Abilities(
        machine=machine,
        software=software if machine is None else software.seen(lambda path: sandbox.is_seen(machine, path)),
        has_own_network=has_own_network,
        way_out=found["way_out"] if has_way_out else "",
        has_own_uid=has_own_uid,
        overlay_problem=found["overlay_problem"],
        cgroups=found["cgroups"],
        image_tool=found["image_tool"] if has_sandbox and (has_own_uid or os.geteuid() != 0) else "",
        image_problem=found["image_problem"] or "there is no sandbox to run them in",
        image_options=tuple(found["image_options"]),
        filters_calls=has_sandbox and settings.seccomp and not found["filter_problem"],
        devices=frozenset(f"{device['type']}:{device['id']}" for device in found["devices"]),
    )


def _machine(settings: EngineSettings, bwrap: str, software: Software) -> sandbox.Machine:
    hidden = (settings.work_dir, *settings.hide, *settings.kept.values())
    python = Path(os.path.realpath(settings.python))
    chosen = [path for one in settings.pythons for path in (one.parent.parent, one.resolve().parent.parent)]
    prefixes = (settings.python.parent.parent, python.parent.parent, *chosen)
    inside = tuple(map(str, prefixes))
    editable = [place for place in software.folders if not any(is_below(str(place), one) for one in inside)]
    shown = dict.fromkeys((*prefixes, NODE_SCRIPTS.parent, *editable, *settings.show))
    visible = tuple(str(path) for path in shown if str(path) not in sandbox.NOT_A_HOME and path.exists())
    concealed = (*sandbox.find_homes(), *(os.path.realpath(path) for path in hidden if path.exists()))
    return sandbox.Machine(bwrap=bwrap, hidden=sandbox.outermost(concealed, visible), shown=visible)


def _node_info(settings: EngineSettings, found: dict[str, Any], can: Abilities, software: Software) -> NodeInfo:
    real = [Device.model_validate(device) for device in found["devices"]]
    simulated = [
        Device(type=device.type, model=device.model or "simulated", id=number, is_simulated=True)
        for device in settings.simulated
        for number in range(device.count)
    ]
    cores = len(os.sched_getaffinity(0))
    return NodeInfo(
        name=settings.node_name,
        cpus=float(cores),
        memory_bytes=probe.memory_bytes(),
        devices=(*real, *simulated),
        max_tasks=settings.max_tasks or max(MIN_TASKS, TASKS_PER_CORE * cores),
        has_sandbox=can.machine is not None,
        has_own_network=can.has_own_network,
        joins_networks=can.has_own_network and not can.overlay_problem,
        holds_many_tasks=True,
        image_tool=os.path.basename(can.image_tool),
        image_problem="" if can.image_tool else can.image_problem,
        software=software.names,
        pythons=tuple(can.software.pythons),
        work_dir=str(settings.work_dir.absolute()),
        missing=(*_missing(found, can), *software.problems),
    )


def _missing(found: dict[str, Any], can: Abilities) -> list[str]:
    """Return one sentence for each kind of isolation that is missing here."""
    said = []
    if can.machine is None:
        why = found["sandbox_problem"] or "switched off in the settings"
        said.append(f"No sandbox ({why}): jobs see the machine's files, each other's processes and the server's.")
    elif not can.has_own_uid:
        said.append("Jobs run as the user who runs the server, because that is not root.")
    if can.machine is not None and not can.filters_calls:
        why = found["filter_problem"] or "switched off in the settings"
        said.append(f"System calls are not filtered ({why}): jobs can use more of the kernel than they need.")
    if not can.has_own_network:
        why = found["network_problem"] or "switched off in the settings, or no sandbox"
        said.append(f"No network of their own ({why}): jobs share the ports of the machine and reach its services.")
    if can.has_own_network and not can.way_out:
        why = found["way_out_problem"] or "switched off in the settings"
        said.append(f"No outgoing connections from a job's network ({why}): a setup that downloads packages fails.")
    for controller, what in (("memory", "Memory limits"), ("cpu", "CPU shares")):
        if controller not in can.cgroups:
            said.append(f"{what} are not enforced: control groups cannot be created here.")
    if "pids" not in can.cgroups and can.machine is not None:
        said.append("Processes are limited per user and not per task: control groups cannot be created here.")
    return [*said, *found["device_problems"]]
