"""The part of a task's description that a stager needs, with paths relative to the task's folder."""

from __future__ import annotations

import os
from typing import NamedTuple, Optional

from danlu.node.supervise.records import TOKEN
from danlu.node.supervise.stager_process import read_fetched
from danlu.node.task import Task, TaskCache, TaskElsewhere, TaskInput, TaskOutput, read_task


class Staging(NamedTuple):
    """Paths are relative to the task's folder: the job's user may have no access to the folders above it."""

    server_url: str
    token: str
    uid: Optional[int]
    inputs: tuple[TaskInput, ...]
    elsewhere: TaskElsewhere
    outputs: tuple[TaskOutput, ...]
    runs: Optional[str]
    """Folder of the task's runs and artifacts."""

    in_patience_seconds: float
    out_patience_seconds: float
    cache: Optional[TaskCache]
    fetched: dict[str, list[int]]
    """Files that earlier attempts had stored, with size, mtime and inode when they were fetched."""


def read_staging(folder: str) -> Staging:
    """Raise TaskUnreadable or OSError."""
    task: Task = read_task(folder)
    with open(os.path.join(folder, TOKEN)) as file:
        token = file.read().strip()

    def below(path: str) -> str:
        return os.path.relpath(path, folder)

    return Staging(
        server_url=task.server_url,
        token=token,
        uid=task.uid,
        inputs=tuple(one._replace(to=below(one.to)) for one in task.inputs),
        elsewhere=task.elsewhere,
        outputs=tuple(one._replace(path=below(one.path)) for one in task.outputs),
        runs=below(task.runs) if task.runs else None,
        in_patience_seconds=task.in_patience_seconds,
        out_patience_seconds=task.out_patience_seconds,
        cache=task.cache,
        fetched=read_fetched(folder),
    )
