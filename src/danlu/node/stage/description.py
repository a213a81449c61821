"""What a stager is told: the one place that reads the task's description for it."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple, Optional

from danlu.node.supervise.records import TASK, TOKEN
from danlu.node.supervise.stager_process import read_fetched


class Input(NamedTuple):
    source: str
    """`store://bucket/key`, or `tree:` and a digest."""

    to: str
    is_own: bool
    """Whether it is what earlier attempts of the job left: there need not be any."""


class Output(NamedTuple):
    path: str
    to: str
    """`store://bucket/prefix`"""

    while_running: bool


class Cache(NamedTuple):
    """Where the tasks of this node that have one owner keep what they fetched."""

    folder: str
    max_bytes: int


class Staging(NamedTuple):
    """Paths are from the task's folder: the job's user may not pass the folders above it."""

    server_url: str
    token: str
    uid: Optional[int]
    gid: Optional[int]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    runs: Optional[str]
    """The folder of the task's runs and artifacts."""

    in_patience_seconds: float
    out_patience_seconds: float
    cache: Optional[Cache]
    fetched: dict[str, list[int]]
    """Files that came from the store, as they were then."""


def read_staging(folder: str) -> Staging:
    with open(os.path.join(folder, TASK)) as file:
        task: dict[str, Any] = json.load(file)
    with open(os.path.join(folder, TOKEN)) as file:
        token = file.read().strip()

    def below(path: str) -> str:
        return os.path.relpath(path, folder)

    cache = task.get("cache")
    return Staging(
        server_url=task["server_url"],
        token=token,
        uid=task["uid"],
        gid=task["gid"],
        inputs=tuple(Input(one["source"], below(one["to"]), bool(one.get("is_own"))) for one in task["inputs"]),
        outputs=tuple(Output(below(one["path"]), one["to"], bool(one["while_running"])) for one in task["outputs"]),
        runs=below(task["runs"]) if task.get("runs") else None,
        in_patience_seconds=task["in_patience_seconds"],
        out_patience_seconds=task["out_patience_seconds"],
        cache=Cache(cache["folder"], cache["max_bytes"]) if cache else None,
        fetched=read_fetched(folder),
    )
