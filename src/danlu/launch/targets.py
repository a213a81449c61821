"""Where inputs may be placed in a task: an allow-list. Pure; nodes check actual paths again when tasks start.

A target is in the task's own folder, or in one of a few folders that contain only what this task placed there. It is
never in a folder that outlives the job, where the owner may have left a symbolic link.
"""

from __future__ import annotations

import posixpath

from danlu.errors import InvalidSpec
from danlu.launch.plan import TaskPlan

FOLDERS = (
    "/cache",
    "/code",
    "/data",
    "/dataset",
    "/datasets",
    "/home",
    "/input",
    "/inputs",
    "/media",
    "/mnt",
    "/model",
    "/models",
    "/srv",
    "/tmp",
    "/train",
    "/work",
    "/workspace",
)
"""Not those of the machine: in a task with a target in one of these, it is empty except for the task's targets."""

ONLY_BELOW = ("/home", "/tmp")
"""Targets may be below these, but not these themselves, which the engine creates."""


def check_targets(task: TaskPlan) -> None:
    """Raise InvalidSpec for an input with a target that is not allowed."""
    for fetch in task.inputs:
        problem = _problem(fetch.to, task)
        if problem:
            raise InvalidSpec(f"invalid job: data: {problem}", fields={"data": problem})


def is_below(path: str, folder: str) -> bool:
    """Whether a path is the folder or below it. Both must be normalized."""
    return path == folder or path.startswith(f"{folder}/")


def _problem(target: str, task: TaskPlan) -> str:
    expected = f"expected a relative path, or one in {task.root}, {', '.join(FOLDERS)}"
    if posixpath.normpath(f"/{target.lstrip('/')}") != target:
        return f"{target!r} is not in its normal form; {expected}"
    for mount in task.mounts:
        if is_below(target, mount.to) or is_below(mount.to, target):
            return (
                f"{target!r} overlaps with {mount.to}, which outlives the job; expected a relative path, which is "
                f"found in DANLU_DATA_DIR"
            )
    if is_below(target, task.root):
        return ""
    if target in ONLY_BELOW or not any(is_below(target, folder) for folder in FOLDERS):
        return f"{target!r} is a folder of the system; {expected}"
    return ""
