"""Limits of a task through cgroups, version 2 or 1, where this machine permits creating them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from typing import NamedTuple, Optional

from danlu.node.task import TaskLimits

V2 = "/sys/fs/cgroup"
YOUNG_SECONDS = 60.0
_SHARES_PER_CPU = 1024


class Groups(NamedTuple):
    """The cgroups of one task: folders below /sys/fs/cgroup; empty for missing controllers."""

    memory: str = ""
    cpu: str = ""
    pids: str = ""

    def join(self) -> None:
        """Move this process and its future children into the cgroups."""
        for folder in set(self) - {""}:
            _write(f"{folder}/cgroup.procs", str(os.getpid()))

    def num_refused_forks(self) -> int:
        """How often a fork failed because the task had too many processes or threads."""
        try:
            with open(f"{self.pids}/pids.events") as file:
                values = dict(line.split() for line in file)
        except OSError:
            return 0
        return int(values.get("max", 0))

    def num_oom_kills(self) -> int:
        """How many processes the kernel killed because the task exceeded its memory."""
        if not self.memory:
            return 0
        for name in ("memory.events", "memory.oom_control"):
            try:
                with open(f"{self.memory}/{name}") as file:
                    values = dict(line.split() for line in file if len(line.split()) == 2)
            except OSError:
                continue
            return int(values.get("oom_kill", 0))
        return 0

    def memory_bytes(self) -> Optional[int]:
        """Memory in use, without the inactive page cache, which the kernel reclaims first; None when unknown."""
        if not self.memory:
            return None
        for name, cache in (("memory.current", "inactive_file"), ("memory.usage_in_bytes", "total_inactive_file")):
            try:
                with open(f"{self.memory}/{name}") as file:
                    used = int(file.read())
                with open(f"{self.memory}/memory.stat") as file:
                    values = dict(line.split() for line in file)
            except (OSError, ValueError):
                continue
            return max(0, used - int(values.get(cache, 0)))
        return None

    def remove(self) -> None:
        for folder in set(self) - {""}:
            _remove(folder)


def find_roots(name: str) -> dict[str, str]:
    """Return controller -> path prefix of our cgroups, for controllers that work. Leaves nothing behind."""
    found = {}
    for controller in _KNOBS:
        for parent in (V2, f"{V2}/{controller}"):
            if _can_limit(f"{parent}/{name}-", controller, parent):
                found[controller] = f"{parent}/{name}-"
                break
    return found


def make_groups(roots: Mapping[str, str], name: str, limits: TaskLimits) -> tuple[Groups, list[str]]:
    """Create the cgroups of a task. Return them, and sentences about limits that could not be set.

    Controllers without a root are skipped: the node already reports them as missing.
    """
    made, problems = Groups(), []
    for controller, is_wanted, set_limit, problem in (
        ("memory", limits.memory_bytes is not None, _limit_memory, _MEMORY),
        ("cpu", limits.cpus is not None, _weigh_cpus, _CPU),
        ("pids", limits.max_processes > 0, _limit_processes, _PIDS),
    ):
        if not is_wanted or controller not in roots:
            continue
        folder = ""
        try:
            folder = _make(roots[controller], name)
            set_limit(folder, limits)
            made = made._replace(**{controller: folder})
        except OSError as error:
            mib, cpus = (limits.memory_bytes or 0) / 2**20, limits.cpus or 0.0
            problems.append(problem.format(mib=mib, cpus=cpus, processes=limits.max_processes, error=error))
            if folder not in made:  # a cgroup that other controllers share is kept
                _remove(folder)
    return made, problems


_MEMORY = "the memory of this task is not limited to {mib:.0f} MiB: {error}"
_CPU = "the {cpus:g} cores of this task are not reserved: {error}"
_PIDS = "this task is not limited to {processes} processes: {error}"


def remove_leftovers(roots: dict[str, str]) -> None:
    """Remove cgroups of tasks that ended without removing them. The kernel refuses to remove those in use."""
    for root in set(roots.values()):
        parent, prefix = os.path.split(root)
        for name in os.listdir(parent):
            folder = f"{parent}/{name}"
            if not name.startswith(prefix):
                continue
            with contextlib.suppress(FileNotFoundError):  # its task has just removed it
                # a new one may belong to a task that is just starting
                if os.path.isdir(folder) and os.stat(folder).st_ctime < time.time() - YOUNG_SECONDS:
                    _remove(folder)


def _can_limit(root: str, controller: str, parent: str) -> bool:
    try:
        if parent == V2:
            if not os.path.exists(f"{V2}/cgroup.controllers"):
                return False
            _write(f"{V2}/cgroup.subtree_control", f"+{controller}")
        probe = _make(root, "probe")
        works = any(os.path.exists(f"{probe}/{name}") for name in _KNOBS[controller])
        _remove(probe)
    except OSError:
        return False
    return works


_KNOBS = {
    "memory": ("memory.max", "memory.limit_in_bytes"),
    "cpu": ("cpu.weight", "cpu.shares"),
    "pids": ("pids.max",),
}
"""Controller -> names of its limit file, of which one exists."""


def _limit_processes(folder: str, limits: TaskLimits) -> None:
    _write(f"{folder}/pids.max", str(limits.max_processes))


def _limit_memory(folder: str, limits: TaskLimits) -> None:
    memory_bytes = limits.memory_bytes
    if os.path.exists(f"{folder}/memory.max"):
        _write(f"{folder}/memory.max", str(memory_bytes))
        if os.path.exists(f"{folder}/memory.swap.max"):  # missing when swap accounting is off
            _write(f"{folder}/memory.swap.max", "0")
        return
    _write(f"{folder}/memory.limit_in_bytes", str(memory_bytes))
    with contextlib.suppress(OSError):
        # without it a task could use swap instead; the file is missing when swap accounting is off
        _write(f"{folder}/memory.memsw.limit_in_bytes", str(memory_bytes))


def _weigh_cpus(folder: str, limits: TaskLimits) -> None:
    """Set a share, not a cap: a task gets its cores when others compete for them, and more when they are idle."""
    cpus = limits.cpus or 0.0
    shares = max(2, int(cpus * _SHARES_PER_CPU))
    if os.path.exists(f"{folder}/cpu.weight"):
        _write(f"{folder}/cpu.weight", str(min(10000, max(1, int(cpus * 100)))))
        return
    _write(f"{folder}/cpu.shares", str(min(262144, shares)))


def _make(root: str, name: str) -> str:
    folder = f"{root}{name}"
    os.makedirs(folder, exist_ok=True)
    return folder


def _remove(folder: str) -> str:
    """Remove a cgroup without processes; return ""."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)
    return ""


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
