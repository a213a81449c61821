"""Where inputs may be put in a task: an allow-list. Pure; what the machine shows is checked again where tasks start.

A target lies in the task's own folder, or in one of a few folders that hold nothing but what this task put there. It is
never in a folder that outlives jobs: its owner may have left a link in it.
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
"""Not the machine's: in a task that has a target there, such a folder is empty but for its targets."""

ONLY_BELOW = ("/home", "/tmp")
"""These themselves are made by the engine."""


def check_targets(task: TaskPlan) -> None:
    """Raise InvalidSpec for an input that would be put where it may not be."""
    for fetch in task.inputs:
        problem = _problem(fetch.to, task)
        if problem:
            raise InvalidSpec(f"invalid job: data: {problem}", fields={"data": problem})


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or something in it. Both are in their normal form."""
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
