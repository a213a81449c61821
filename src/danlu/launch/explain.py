"""Explain a plan: what is started, what each variable and file is for, and when the job has succeeded. Pure.

The texts are kept with the code that sets the variables: each module of MODES and of the contracts has `STARTS`, `TOLD`
and `FILES`. A test fails for variables that are missing there.
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType

from danlu.launch import ascend, contracts, ddp, mpi, plain, ps_worker, ray
from danlu.launch.documented import Told
from danlu.launch.layout import Layout
from danlu.launch.plan import Plan, TaskPlan
from danlu.spec.job import JobSpec, LaunchMode, Processes
from danlu.spec.roles import MPI_MODES, group_of, success_rule

MODES: dict[LaunchMode, ModuleType] = {
    LaunchMode.PLAIN: plain,
    LaunchMode.DDP: ddp,
    LaunchMode.ASCEND: ascend,
    LaunchMode.PS_WORKER: ps_worker,
    LaunchMode.MPI: mpi,
    LaunchMode.HOROVOD: mpi,
    LaunchMode.DEEPSPEED: mpi,
    LaunchMode.COLOSSALAI: mpi,
    LaunchMode.RAY: ray,
}
OWN = "env of the job file"
ENGINE_ADDS = (
    "PATH, VIRTUAL_ENV, HOME, USER, SHELL, LANG, TERM, TMPDIR and PYTHONUNBUFFERED are set where the task runs, when "
    "the plan has no others."
)


@dataclass(frozen=True, slots=True)
class Explained:
    """One variable: what it holds, which programs read it, and what sets it."""

    what: str
    read_by: str
    set_by: str


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    rank: int
    variables: Mapping[str, Explained]
    files: Mapping[str, str]
    """Path -> what it is for."""

    folders: Mapping[str, str]
    """Path -> what happens to files in it."""


@dataclass(frozen=True, slots=True)
class Explanation:
    starts: tuple[str, ...]
    """How the tasks are started: a text of the contract, if any, and one of the launch mode."""

    succeeds: str
    notes: tuple[str, ...]
    tasks: tuple[TaskExplanation, ...]


def explain(job: JobSpec, plan: Plan) -> Explanation:
    """Explain everything in a plan. Raise KeyError for an undocumented variable or file."""
    return Explanation(
        starts=tuple(str(module.STARTS) for _, module in _modules(job)),
        succeeds=_succeeds(job),
        notes=tuple(_notes(job)),
        tasks=tuple(_explain_task(job, task) for task in plan.tasks),
    )


def _succeeds(job: JobSpec) -> str:
    rule = success_rule(job)
    one_fails = "One that fails ends the others."
    if rule.needs_all and len(rule.ranks) == job.nodes:
        return f"The job has succeeded when the command has ended with 0 in every task. {one_fails}"
    if not rule.needs_all:
        return "The job has succeeded when the command has ended with 0 in one task; the others are then ended."
    return f"The job has succeeded when {rule.name} has ended with 0; the other tasks are then ended. {one_fails}"


def _modules(job: JobSpec) -> Iterator[tuple[str, ModuleType]]:
    """Modules that add to the job's tasks, with their names; the one that takes precedence first."""
    if job.contract is not None:
        yield f"contract: {job.contract}", contracts.MODULES[job.contract]
    yield f"launch: {job.launch}", MODES[job.launch]


def _explain_task(job: JobSpec, task: TaskPlan) -> TaskExplanation:
    sources = [*_modules(job), ("every job", plain)]
    own = {*job.env, *group_of(job, task.rank).env}
    return TaskExplanation(
        rank=task.rank,
        variables={name: _variable(own, name, sources) for name in sorted(task.env)},
        files={path: _file(path, sources) for path in sorted(task.files)},
        folders=dict(_folders(task)),
    )


def _variable(own: set[str], name: str, sources: list[tuple[str, ModuleType]]) -> Explained:
    for source, module in sources:
        told = find_told(module.TOLD, name)
        if told is not None:
            return Explained(told.what, told.read_by, OWN if name in own else source)
    if name in own:
        return Explained("set in the job file", "your code", OWN)
    raise KeyError(f"no line tells what {name} is for")


def find_told(table: Mapping[str, Told], name: str) -> Told | None:
    """Documentation of a variable: an exact name in the table, else the longest pattern with `*` that matches."""
    if name in table:
        return table[name]
    matching = [pattern for pattern in table if fnmatch.fnmatchcase(name, pattern)]
    return table[max(matching, key=len)] if matching else None


def _file(path: str, sources: list[tuple[str, ModuleType]]) -> str:
    name = posixpath.basename(path)
    for _, module in sources:
        if name in module.FILES:
            return str(module.FILES[name])
    raise KeyError(f"no line tells what the file {name} is for")


def _folders(task: TaskPlan) -> Iterator[tuple[str, str]]:
    layout = Layout(task.root)
    yield layout.code, "the code; the command is started here"
    yield layout.data, "the inputs"
    for send in task.outputs:
        when = "while the command runs and at its end" if send.while_running else "at the command's end"
        yield send.path, f"uploaded to {send.to} {when}"
    whose = {"home": "of the person", "shared": "of the project"}
    for mount in task.mounts:
        yield mount.to, f"{whose[mount.kind]} {mount.name}; it outlives the job"


def _notes(job: JobSpec) -> Iterator[str]:
    yield ENGINE_ADDS
    if job.debug:
        yield "Debug: everything is made ready and the command is not started; `danlu shell` opens a shell there."
    if job.image is not None:
        yield (
            f"The command sees the files of {job.image} instead of the machine's, read-only but for its own folders "
            f"and /tmp; variables that the image sets are below those listed here."
        )
    if job.requirements is not None:
        named = job.requirements if isinstance(job.requirements, str) else ", ".join(job.requirements)
        yield f"Packages ({named}) are installed first, or are there from an earlier job that asked for the same."
    if job.processes is Processes.PER_DEVICE:
        yield (
            "The variables above are those of a task. Each of its processes has its own RANK_ID, DEVICE_ID, "
            "DEVICE_INDEX and ASCEND_DEVICE_ID, and RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE for PyTorch: "
            "processes.json lists them, and where the log of each process goes."
        )
    if job.setup is not None:
        yield "Setup runs first, in the shell that then starts the command: what it exports reaches the command."
    if job.max_duration is not None:
        yield f"An attempt that runs for more than {job.max_duration:g} s is ended, and the job fails."
    if job.idle_limit is not None:
        yield f"It ends after {job.idle_limit:g} s without use; its owner gets an alert before that."
    spared = {**dict.fromkeys(MPI_MODES, "mpirun and its daemons"), LaunchMode.RAY: "Ray's daemons"}.get(job.launch)
    but_for = f", but for {spared}," if spared else ""
    yield f"When it is stopped, all its processes{but_for} get SIGTERM, and SIGKILL {job.grace:g} s later."
