"""Ranks of a process of a benchmark."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

NORMAL, SINGLE_SERVER = "normal", "single-server"


class Place(NamedTuple):
    rank: int
    """Rank among all processes of the job, in both modes; files of results are named by it."""

    num_ranks: int
    server: int
    """Rank of the task in the job, from 0."""

    local_rank: int
    per_server: int
    mode: str

    @property
    def group_rank(self) -> int:
        """Rank among the processes that it trains with."""
        return self.rank if self.mode == NORMAL else self.local_rank

    @property
    def group_size(self) -> int:
        return self.num_ranks if self.mode == NORMAL else self.per_server


def places_of_node(env: Mapping[str, str], mode: str) -> list[Place]:
    """The processes of this task, one for each device."""
    server, servers = int(env["DANLU_RANK"]), int(env["DANLU_NODES"])
    per_server = int(env["DANLU_DEVICES_PER_NODE"])
    return [
        Place(server * per_server + local, servers * per_server, server, local, per_server, mode)
        for local in range(per_server)
    ]


def read_options() -> dict[str, Any]:
    """Options of this run: `suite`, `mode` and `parameters`."""
    with open(os.environ["DANLU_HYPERPARAMETERS"], encoding="utf-8") as file:
        found = json.load(file)
    assert isinstance(found, dict)
    return found


def results_folder() -> str:
    """Folder of the results, which is stored as `bench/` in the job's output. Created if necessary."""
    folder = os.path.join(os.environ["DANLU_OUTPUT_DIR"], "bench")
    os.makedirs(folder, exist_ok=True)
    return folder


def write_whole(path: str, content: Mapping[str, Any]) -> None:
    """Write a JSON file atomically."""
    folder, name = os.path.split(path)
    partial = os.path.join(folder, f".{name}.part")
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False, indent=1, sort_keys=True)
    os.replace(partial, path)
