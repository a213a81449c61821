"""The groups of equal tasks that a job consists of, and whose end is the job's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Optional, Union

from danlu.errors import InvalidSpec
from danlu.spec.fields import ALL, ANY
from danlu.spec.job import JobSpec, LaunchMode, Resources

LAUNCHER, CHIEF, WORKER, PS, EVALUATOR = "launcher", "chief", "worker", "ps", "evaluator"
ORDER = (LAUNCHER, CHIEF, WORKER, PS, EVALUATOR)
"""Ranks go through the roles in this order, whatever the order in the job file; other roles come after them."""

MPI_MODES = (LaunchMode.MPI, LaunchMode.HOROVOD)
_ROLES_OF = {
    LaunchMode.PS_WORKER: (CHIEF, WORKER, PS, EVALUATOR),
    LaunchMode.MPI: (LAUNCHER, WORKER),
    LaunchMode.HOROVOD: (LAUNCHER, WORKER),
}
_WITHOUT_ROLES = (LaunchMode.DDP, LaunchMode.ASCEND)


@dataclass(frozen=True)
class Group:
    """Tasks with the same role, command and needs. Ranks count through the groups in their order."""

    role: str
    count: int
    resources: Resources
    command: Optional[Union[str, Sequence[str]]]
    """None for tasks that only wait for others to reach them."""

    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Member:
    """One task of a job, before it has a place."""

    rank: int
    index: int
    """Among the tasks of its role."""

    group: Group

    @property
    def role(self) -> str:
        return self.group.role


@dataclass(frozen=True)
class Rule:
    """Which tasks decide about a job's success."""

    name: str
    ranks: frozenset[int]
    needs_all: bool = True
    """Whether all of them have to end well, or one is enough."""


def groups(spec: JobSpec) -> tuple[Group, ...]:
    """Return the job's groups in rank order; most jobs have one."""
    if spec.roles:
        names = sorted(spec.roles, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
        return tuple(
            Group(name, role.count, role.resources, role.command, role.env)
            for name, role in ((name, spec.roles[name]) for name in names)
        )
    if spec.launch in MPI_MODES:
        launcher = Group(LAUNCHER, 1, spec.resources, spec.command)
        workers = (Group(WORKER, spec.nodes - 1, spec.resources, None),) if spec.nodes > 1 else ()
        return (launcher, *workers)
    return (Group(WORKER, spec.nodes, spec.resources, spec.command or ()),)


def members(spec: JobSpec) -> tuple[Member, ...]:
    """Return every task of the job in rank order."""
    found: list[Member] = []
    for group in groups(spec):
        found += [Member(len(found) + index, index, group) for index in range(group.count)]
    return tuple(found)


def group_of(spec: JobSpec, rank: int) -> Group:
    """Return the group that a rank belongs to."""
    for group in groups(spec):
        if rank < group.count:
            return group
        rank -= group.count
    raise IndexError(f"the job has {spec.nodes} tasks")


def success_rule(spec: JobSpec) -> Rule:
    """Return whose good end is the job's: what it asks for, or what its launch mode says."""
    name = spec.success or _default_rule(spec)
    everyone = members(spec)
    if name in (ALL, ANY):
        return Rule(name, frozenset(member.rank for member in everyone), needs_all=name == ALL)
    role, _, index = name.partition("-")
    found = [member for member in everyone if member.role == role and (not index or member.index == int(index))]
    if not found and name == CHIEF:  # a job without a chief has one all the same: CHIEF_IP is the address of rank 0
        found = [everyone[0]]
    return Rule(name, frozenset(member.rank for member in found))


def check(spec: JobSpec) -> None:
    """Refuse roles and rules that do not go with the launch mode. Raise InvalidSpec that names the field."""
    _check_roles(spec)
    if not success_rule(spec).ranks:
        known = ", ".join(f"{group.role} (0 to {group.count - 1})" for group in groups(spec))
        _refuse("success", f"{spec.success!r} means no task of this job; its tasks are {known}")


def _default_rule(spec: JobSpec) -> str:
    if spec.launch in MPI_MODES:
        return LAUNCHER
    if spec.launch is LaunchMode.PS_WORKER:
        return CHIEF if CHIEF in spec.roles else WORKER
    return ALL


def _check_roles(spec: JobSpec) -> None:
    mode = spec.launch
    if spec.roles and mode in _WITHOUT_ROLES:
        _refuse("roles", f"with launch: {mode} all nodes are alike; give command and nodes instead")
    allowed = _ROLES_OF.get(mode, tuple(spec.roles))
    unknown = [name for name in spec.roles if name not in allowed]
    if unknown:
        _refuse(f"roles.{unknown[0]}", f"launch: {mode} knows no such role; known: {', '.join(allowed)}")
    if mode is LaunchMode.PS_WORKER:
        _check_ps_worker(spec)
    if mode in MPI_MODES:
        _check_mpi(spec)
        return
    for name, role in spec.roles.items():
        if role.command is None:
            _refuse(f"roles.{name}.command", "missing; it must be given")


def _check_ps_worker(spec: JobSpec) -> None:
    missing = [name for name in (PS, WORKER) if name not in spec.roles]
    if missing == [WORKER] and CHIEF in spec.roles:
        missing = []
    if missing:
        _refuse(
            "roles", f"launch: ps_worker needs the role {missing[0]}; write roles: {{ps: {{...}}, worker: {{...}}}}"
        )
    if CHIEF in spec.roles and spec.roles[CHIEF].count != 1:
        _refuse("roles.chief.count", f"{spec.roles[CHIEF].count} chiefs; there is one, or none")


def _check_mpi(spec: JobSpec) -> None:
    if not spec.roles:
        return
    for name in (LAUNCHER, WORKER):
        if name not in spec.roles:
            _refuse(
                "roles", f"launch: {spec.launch} with roles needs {LAUNCHER} and {WORKER}; or give command and nodes"
            )
    if spec.roles[LAUNCHER].count != 1:
        _refuse("roles.launcher.count", f"{spec.roles[LAUNCHER].count} launchers; the command runs once, on one")
    if spec.roles[LAUNCHER].command is None:
        _refuse("roles.launcher.command", "missing; it must be given")
    if spec.roles[WORKER].command is not None:
        _refuse("roles.worker.command", "workers wait for the launcher's mpirun and have no command; leave it out")


def _refuse(place: str, problem: str) -> NoReturn:
    raise InvalidSpec(f"the job cannot be used: {place}: {problem}", fields={place: problem})
