"""Groups of equal tasks in a job, and which tasks decide about its success."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Optional, Union

from danlu.errors import InvalidSpec
from danlu.spec.fields import ALL, ANY
from danlu.spec.job import JobSpec, LaunchMode, Resources

LAUNCHER, CHIEF, WORKER, PS, EVALUATOR = "launcher", "chief", "worker", "ps", "evaluator"
ORDER = (LAUNCHER, CHIEF, WORKER, PS, EVALUATOR)
"""Ranks are numbered by role in this order, independent of the job file; other roles follow."""

MPI_MODES = (LaunchMode.MPI, LaunchMode.HOROVOD, LaunchMode.DEEPSPEED, LaunchMode.COLOSSALAI)
LAUNCHED_MODES = (*MPI_MODES, LaunchMode.RAY)
"""Modes in which the command runs once, on the launcher."""

_ROLES_OF = {
    LaunchMode.PS_WORKER: (CHIEF, WORKER, PS, EVALUATOR),
    **dict.fromkeys(MPI_MODES, (LAUNCHER, WORKER)),
}
_WITHOUT_ROLES = (LaunchMode.DDP, LaunchMode.ASCEND)


@dataclass(frozen=True)
class Group:
    """Tasks with the same role, command and resources. Ranks are numbered across groups."""

    role: str
    count: int
    resources: Resources
    command: Optional[Union[str, Sequence[str]]]
    """None for tasks that only wait for connections."""

    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Member:
    """One task of a job, before it is placed."""

    rank: int
    index: int
    """Index among the tasks of its role."""

    group: Group

    @property
    def role(self) -> str:
        return self.group.role


@dataclass(frozen=True)
class Rule:
    """Which tasks decide about success."""

    name: str
    ranks: frozenset[int]
    needs_all: bool = True
    """Whether all of these tasks must succeed; otherwise one is enough."""


def groups(spec: JobSpec) -> tuple[Group, ...]:
    """The groups of a job in rank order; most jobs have one."""
    if spec.roles:
        names = sorted(spec.roles, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
        return tuple(
            Group(name, role.count, role.resources, role.command, role.env)
            for name, role in ((name, spec.roles[name]) for name in names)
        )
    if spec.launch in LAUNCHED_MODES:
        launcher = Group(LAUNCHER, 1, spec.resources, spec.command)
        workers = (Group(WORKER, spec.nodes - 1, spec.resources, None),) if spec.nodes > 1 else ()
        return (launcher, *workers)
    return (Group(WORKER, spec.nodes, spec.resources, spec.command or ()),)


def members(spec: JobSpec) -> tuple[Member, ...]:
    """All tasks of a job in rank order."""
    found: list[Member] = []
    for group in groups(spec):
        found += [Member(len(found) + index, index, group) for index in range(group.count)]
    return tuple(found)


def group_of(spec: JobSpec, rank: int) -> Group:
    """The group of a rank."""
    for group in groups(spec):
        if rank < group.count:
            return group
        rank -= group.count
    raise IndexError(f"the job has {spec.nodes} tasks")


def success_rule(spec: JobSpec) -> Rule:
    """The success rule of the job, or the default of its launch mode."""
    name = spec.success or _default_rule(spec)
    everyone = members(spec)
    if name in (ALL, ANY):
        return Rule(name, frozenset(member.rank for member in everyone), needs_all=name == ALL)
    role, _, index = name.partition("-")
    found = [member for member in everyone if member.role == role and (not index or member.index == int(index))]
    if not found and name == CHIEF:  # without this role rank 0 acts as chief: CHIEF_IP is its address
        found = [everyone[0]]
    return Rule(name, frozenset(member.rank for member in found))


def check(spec: JobSpec) -> None:
    """Raise InvalidSpec for roles and success rules that the launch mode does not support."""
    _check_roles(spec)
    if not success_rule(spec).ranks:
        known = ", ".join(f"{group.role} (0 to {group.count - 1})" for group in groups(spec))
        _reject("success", f"expected one of {known}, got {spec.success!r}")


def _default_rule(spec: JobSpec) -> str:
    if spec.launch in LAUNCHED_MODES:
        return LAUNCHER
    if spec.launch is LaunchMode.PS_WORKER:
        return CHIEF if CHIEF in spec.roles else WORKER
    return ALL


def _check_roles(spec: JobSpec) -> None:
    mode = spec.launch
    if spec.roles and mode in _WITHOUT_ROLES:
        _reject("roles", f"launch: {mode} does not support roles; use command and nodes")
    allowed = _ROLES_OF.get(mode, tuple(spec.roles))
    unknown = [name for name in spec.roles if name not in allowed]
    if unknown:
        _reject(f"roles.{unknown[0]}", f"unknown role; launch: {mode} has {', '.join(allowed)}")
    if mode is LaunchMode.PS_WORKER:
        _check_ps_worker(spec)
    if mode in LAUNCHED_MODES:
        _check_launched(spec)
        return
    for name, role in spec.roles.items():
        if role.command is None:
            _reject(f"roles.{name}.command", "this field is required")


def _check_ps_worker(spec: JobSpec) -> None:
    if WORKER not in spec.roles and CHIEF not in spec.roles:
        _reject("roles", "launch: ps_worker needs the role worker; expected roles: {worker: {...}, ps: {...}}")
    if CHIEF in spec.roles and spec.roles[CHIEF].count != 1:
        _reject("roles.chief.count", f"expected 1, got {spec.roles[CHIEF].count}")


def _check_launched(spec: JobSpec) -> None:
    if not spec.roles:
        return
    needed = (LAUNCHER,) if spec.launch is LaunchMode.RAY else (LAUNCHER, WORKER)
    if any(name not in spec.roles for name in needed):
        _reject("roles", f"launch: {spec.launch} with roles needs {' and '.join(needed)}; or use command and nodes")
    if spec.roles[LAUNCHER].count != 1:
        _reject("roles.launcher.count", f"expected 1, got {spec.roles[LAUNCHER].count}: the command runs on one node")
    if spec.roles[LAUNCHER].command is None:
        _reject("roles.launcher.command", "this field is required")
    for name, role in spec.roles.items():
        if name != LAUNCHER and role.command is not None:
            _reject(
                f"roles.{name}.command",
                "expected none: only the launcher has a command; it starts the others",
            )


def _reject(place: str, problem: str) -> NoReturn:
    raise InvalidSpec(f"invalid job: {place}: {problem}", fields={place: problem})
