"""Collect the remaining facts about a task whose processes have ended, before its cgroups and log are gone."""

from __future__ import annotations

import os

from danlu.node.supervise.below import exists_below
from danlu.node.supervise.cgroup import Groups
from danlu.node.supervise.records import LOG
from danlu.node.supervise.verdict import Facts
from danlu.node.task import Task

LAST_BYTES, LAST_CHARACTERS = 4096, 300


def look_at_the_end(facts: Facts, task: Task, groups: Groups, *, max_file_bytes: int) -> Facts:
    disk = os.statvfs(facts.folder)
    missed = (gate for gate in task.gates if not exists_below(facts.folder, gate.passed))
    return facts._replace(
        missed_gate=next(((gate.name, gate.reason) for gate in missed), None),
        num_oom_kills=groups.num_oom_kills(),
        num_refused_forks=groups.num_refused_forks(),
        is_log_full=os.stat(os.path.join(facts.folder, LOG)).st_size >= max_file_bytes,
        room_bytes=disk.f_bavail * disk.f_frsize,
        last_line=_last_line(os.path.join(facts.folder, LOG)),
    )


def _last_line(path: str) -> str:
    """Return the last non-empty line of a log, for an error message."""
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - LAST_BYTES))
        lines = file.read().decode(errors="replace").splitlines()
    return next((line.strip()[:LAST_CHARACTERS] for line in reversed(lines) if line.strip()), "")
